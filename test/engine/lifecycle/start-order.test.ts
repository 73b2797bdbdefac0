import { expect, test } from 'vitest';
import type { PodStatus } from '../../../src/api/types.ts';
import { awaitedPodsText, computeStartOrder, type StartOrder } from '../../../src/engine/lifecycle/start-order.ts';
import { podAfter } from '../../builders/pod-after.ts';

const ready: PodStatus = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
const unready: PodStatus = { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] };
const start: StartOrder = { decision: 'start' };
const wait = (unready: string[], undeclared: string[] = []): StartOrder => ({
  decision: 'wait',
  awaits: { unready, undeclared },
});

const declared = [
  podAfter('etcd', ''),
  podAfter('dns', '', { namespace: 'kube-system' }),
  podAfter('a', 'b'),
  podAfter('b', 'a'),
];

test.each<[string, string, Record<string, PodStatus>, StartOrder]>([
  ['starts when it waits for none', '', {}, start],
  ['starts when the others are Ready', 'etcd,kube-system/dns', { etcd: ready, dns: ready }, start],
  ['starts when the other completed', 'etcd', { etcd: { phase: 'Succeeded' } }, start],
  ['waits for what is not Ready', 'etcd', { etcd: unready }, wait(['etcd'])],
  ['waits for what failed', 'etcd', { etcd: { phase: 'Failed' } }, wait(['etcd'])],
  ['waits for what nothing is known of yet', 'etcd,kube-system/dns', {}, wait(['etcd', 'kube-system/dns'])],
  ['names those alone that are missing', 'etcd,kube-system/dns', { dns: ready }, wait(['etcd'])],
  ['waits for what is not declared', 'etcd,db', { etcd: unready }, wait(['etcd'], ['db'])],
  ['waits for a pod of a cycle like for any other', 'a', {}, wait(['a'])],
])('a pod %s', (_what, dependsOn, statuses, expected) => {
  const pod = podAfter('app', dependsOn);
  expect(computeStartOrder(pod, [...declared, pod], ({ metadata }) => statuses[metadata.uid])).toEqual(expected);
});

test('a pod that waits for itself over another is refused until manifests change', () => {
  const [, , a] = declared;
  expect(a && computeStartOrder(a, declared, () => ready)).toEqual({
    decision: 'refuse',
    rejection: {
      reason: 'StartOrderCycle',
      message: 'default/a waits for default/b, which waits for default/a',
      retryOn: 'anyManifest',
    },
  });
});

test('the message of a wait names the pods that are not Ready, then those that nothing declares', () => {
  expect(awaitedPodsText({ unready: ['a', 'b'], undeclared: ['c', 'd'] })).toBe(
    'Waiting for a, b to be Ready. Waiting for c, d, which no manifest declares',
  );
});
