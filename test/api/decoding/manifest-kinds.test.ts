import { describe, expect, test } from 'vitest';
import { kindMeaning } from '../../../src/api/decoding/manifest-kinds.ts';

/** The groups of Kubernetes 1.36 that have none of the kinds that run here. */
const otherGroups = [
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'certificates.k8s.io',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'internal.apiserver.k8s.io',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'resource.k8s.io',
  'storagemigration.k8s.io',
  'kubeadm.k8s.io',
  'kubelet.config.k8s.io',
];

const customResource = {
  type: 'unsupported',
  reason: 'custom resources need an API server and a controller',
  isMissed: true,
} as const;

describe('kinds of groups', () => {
  test.each([
    ['gateway.networking.k8s.io/v1', 'HTTPRoute'],
    ['snapshot.storage.k8s.io/v1', 'VolumeSnapshot'],
    ['policy.networking.k8s.io/v1alpha1', 'AdminNetworkPolicy'],
    ['metrics.k8s.io/v1beta1', 'PodMetrics'],
    ['cluster.x-k8s.io/v1beta1', 'Cluster'],
    ['leaderworkerset.x-k8s.io/v1', 'LeaderWorkerSet'],
    ['cert-manager.io/v1', 'Certificate'],
    // Names of kinds that run here.
    ['batch.volcano.sh/v1alpha1', 'Job'],
    ['serving.knative.dev/v1', 'Service'],
    ['apps.kruise.io/v1', 'StatefulSet'],
    ['example.k8s.io/v1', 'Pod'],
  ])('%s %s is a custom resource', (apiVersion, kind) => {
    expect(kindMeaning(apiVersion, kind)).toEqual(customResource);
    expect(kindMeaning(apiVersion, `${kind}List`)).toEqual({ type: 'list', itemKind: kind });
  });

  test.each(otherGroups)('a kind of %s that is newer than this program is not supported', (group) => {
    expect(kindMeaning(`${group}/v9`, 'Novelty')).toEqual({
      type: 'unsupported',
      reason: expect.stringMatching(/./) as string,
      isMissed: true,
    });
  });

  test.each([
    ['scheduling.k8s.io/v1alpha1', 'Workload', 'it is for the API server of a cluster'],
    ['scheduling.k8s.io/v1alpha3', 'PodGroup', 'it is for the API server of a cluster'],
    ['kustomize.config.k8s.io/v1alpha1', 'Component', expect.stringContaining('kubectl kustomize') as string],
    ['kustomize.config.k8s.io/v1beta1', 'Kustomization', expect.stringContaining('kubectl kustomize') as string],
    ['autoscaling/v2', 'HorizontalPodAutoscaler', 'a workload keeps its replicas until you change them'],
    ['networking.k8s.io/v1', 'NetworkPolicy', 'nothing filters the connections of pods'],
    ['networking.k8s.io/v1', 'ServiceCIDR', 'the network is that of the container runtime'],
    ['kubeproxy.config.k8s.io/v1alpha1', 'KubeProxyConfiguration', 'it configures another program'],
    ['kubeadm.k8s.io/v1beta4', 'ResetConfiguration', 'it is for kubeadm'],
  ])('%s %s has a reason', (apiVersion, kind, reason) => {
    expect(kindMeaning(apiVersion, kind)).toMatchObject({ type: 'unsupported', reason });
  });

  test.each([
    ['apps/v1', 'Deploymnt', 'kind', 'Did you mean "Deployment"?'],
    ['v1', 'Potato', 'kind', 'Check its spelling.'],
    ['storage.k8s.io/v1', 'CSIDrivr', 'kind', 'Did you mean "CSIDriver"?'],
    ['app/v1', 'Deployment', 'apiVersion', 'Write "apiVersion: apps/v1".'],
    ['extensions/v1beta1', 'Deployment', 'apiVersion', 'Write "apiVersion: apps/v1".'],
    ['networking.k8s.io/v1', 'Deployment', 'apiVersion', 'Write "apiVersion: apps/v1".'],
    ['nodes.k8s.io/v1', 'RuntimeClass', 'apiVersion', 'Write "apiVersion: node.k8s.io/v1".'],
  ])('%s %s is a mistake', (apiVersion, kind, field, hint) => {
    expect(kindMeaning(apiVersion, kind)).toMatchObject({ type: 'unknown', field, hint });
  });
});
