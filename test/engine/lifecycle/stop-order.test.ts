import { expect, test } from 'vitest';
import { computeStopOrder } from '../../../src/engine/lifecycle/stop-order.ts';
import { podAfter } from '../../builders/pod-after.ts';

test.each([
  ['pods of no order at once', { a: '', b: '' }, [['a', 'b']]],
  [
    'a pod before what it depends on',
    { etcd: '', apiserver: 'etcd', controller: 'apiserver', web: '' },
    [['controller', 'web'], ['apiserver'], ['etcd']],
  ],
  ['what several depend on after all of them', { etcd: '', a: 'etcd', b: 'a,etcd' }, [['b'], ['a'], ['etcd']]],
  ['pods that others are missing for at once', { a: 'gone' }, [['a']]],
  ['pods of a cycle at once, after those that depend on them', { a: 'b', b: 'a', c: 'a' }, [['c'], ['a', 'b']]],
  ['nothing', {}, []],
])('%s', (_what, pods, expected) => {
  const order = computeStopOrder(Object.entries(pods).map(([name, dependsOn]) => podAfter(name, dependsOn)));
  expect(order.map((step) => step.map(({ metadata }) => metadata.uid))).toEqual(expected);
});
