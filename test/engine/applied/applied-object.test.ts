import { expect, test } from 'vitest';
import { isSupportedKind, supportedKinds } from '../../../src/api/decoding/manifest-kinds.ts';
import { pluralName } from '../../../src/engine/applied/applied-object.ts';

test('the plural of every kind is that of kubectl', () => {
  expect(Object.keys(supportedKinds).filter(isSupportedKind).map(pluralName).toSorted()).toEqual([
    'configmaps',
    'cronjobs.batch',
    'csidrivers.storage.k8s.io',
    'daemonsets.apps',
    'deployments.apps',
    'endpoints',
    'endpointslices.discovery.k8s.io',
    'jobs.batch',
    'persistentvolumeclaims',
    'persistentvolumes',
    'pods',
    'priorityclasses.scheduling.k8s.io',
    'replicasets.apps',
    'replicationcontrollers',
    'runtimeclasses.node.k8s.io',
    'secrets',
    'services',
    'statefulsets.apps',
  ]);
});
