import { expect, test } from 'vitest';
import type { RuntimePod } from '../../../src/engine/container/runtime-pod.ts';
import { computeTearDownOrder } from '../../../src/engine/gc/tear-down-pods.ts';

/** A pod with its name for UID. */
function runtimePod(name: string, dependsOn: string): RuntimePod {
  return {
    ...{ uid: name, name, namespace: 'default', createdAt: 0, sandboxes: [], containers: [] },
    ...(dependsOn !== '' && { dependsOn }),
  };
}

test.each([
  ['pods of no order at once', { 'a-edge1': '', 'b-edge1': '' }, [['a-edge1', 'b-edge1']]],
  [
    'a pod before what it depends on',
    { 'etcd-edge1': '', 'apiserver-edge1': 'etcd', 'controller-edge1': 'apiserver' },
    [['controller-edge1'], ['apiserver-edge1'], ['etcd-edge1']],
  ],
  ['the name of a node of several words', { 'db-my-box': '', 'app-my-box': 'db' }, [['app-my-box'], ['db-my-box']]],
  ['names of pods that end alike', { 'db-1-edge': '', 'app-1-edge': 'db-1' }, [['app-1-edge'], ['db-1-edge']]],
  ['names with that of the node', { 'db-edge1': '', 'app-edge1': 'db-edge1' }, [['app-edge1'], ['db-edge1']]],
  ['a pod alone', { 'app-edge1': 'db' }, [['app-edge1']]],
  ['pods without the name of a node', { db: '', app: 'db' }, [['app'], ['db']]],
  ['nothing', {}, []],
])('%s', (_what, pods, expected) => {
  expect(computeTearDownOrder(Object.entries(pods).map(([name, others]) => runtimePod(name, others)))).toEqual(
    expected,
  );
});
