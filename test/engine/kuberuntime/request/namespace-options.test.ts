import { expect, test } from 'vitest';
import type { PodSpec } from '../../../../src/api/types.ts';
import { namespacesForContainer } from '../../../../src/engine/kuberuntime/request/namespace-options.ts';
import { makePod } from '../../../builders/pods.ts';

test.each<[string, Partial<PodSpec>, object]>([
  ['a namespace of its own gives it to the container', {}, { pid: 'TARGET', targetId: 'main1' }],
  ['a namespace of the pod keeps it', { shareProcessNamespace: true }, { pid: 'POD' }],
  ['the namespace of the node keeps it', { hostPID: true }, { pid: 'NODE' }],
])('a target with %s', (_title, spec, expected) => {
  expect(namespacesForContainer(makePod({ spec }), undefined, 'main1')).toEqual({
    network: 'POD',
    ipc: 'POD',
    ...expected,
  });
});
