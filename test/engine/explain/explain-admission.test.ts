import { describe, expect, test } from 'vitest';
import { explainPod } from '../../../src/engine/explain/explain-pod.ts';
import type { AwaitedPods } from '../../../src/engine/view/snapshot.ts';
import { makePod } from '../../builders/pods.ts';
import { node } from './explained-node.ts';

/** The fix for a pod that waits for these, and its next try. */
function waysOf(awaits: AwaitedPods) {
  const pod = makePod({ status: { phase: 'Pending', reason: 'WaitingForPods', message: 'Waiting' } });
  const { stage, fixes, nextTryWhen } = explainPod({
    pod,
    node,
    awaits,
    worker: { state: 'sync', working: false, pending: false },
  });
  return { stage, fixes, nextTryWhen };
}

const declare = (name: string): string =>
  `Declare ${name} in a manifest, or correct its name in the annotation kubelet-ts.io/depends-on.`;
const askAbout = (name: string): string => `Ask about that pod: kubelet-ts explain ${name}`;

describe('the fix for a wait names the pod to declare, and the pod to ask about:', () => {
  test.each<[string[], string[], string[], string]>([
    [['etcd'], [], [askAbout('etcd')], 'etcd becomes Ready'],
    [['etcd', 'kube-system/dns'], [], [askAbout('etcd')], 'etcd, kube-system/dns becomes Ready'],
    [[], ['db'], [declare('db')], 'manifests change'],
    [['etcd'], ['db'], [declare('db'), askAbout('etcd')], 'manifests change'],
  ])('%j, and undeclared %j', (unready, undeclared, fixes, nextTryWhen) => {
    expect(waysOf({ unready, undeclared })).toEqual({ stage: 'start order', fixes, nextTryWhen });
  });
});
