import { describe, expect, test } from 'vitest';
import { explainPod } from '../../../src/engine/explain/explain-pod.ts';
import { makePod } from '../../builders/pods.ts';

const node = {
  runtime: { endpoint: 'unix:///x', chosenBecause: '', name: 'fake', version: '1' },
  pressures: [],
  sources: [],
  pods: [],
};

/** The way out for a pod that waits with this message, and its next try. */
function waysOf(message: string) {
  const pod = makePod({ status: { phase: 'Pending', reason: 'WaitingForPods', message } });
  const { stage, ways, nextTryWhen } = explainPod({
    pod,
    node,
    worker: { state: 'sync', working: false, pending: false },
  });
  return { stage, ways, nextTryWhen };
}

const declare = (name: string): string =>
  `Declare ${name} in a manifest, or correct its name in the annotation kubelet-ts.io/depends-on.`;
const lookAt = (name: string): string => `Look at that pod: kubelet-ts explain ${name}`;

describe('the way out of a wait names the pod to declare, and the pod to look at:', () => {
  test.each([
    ['Waiting for etcd to be Ready', [lookAt('etcd')], 'etcd becomes Ready'],
    ['Waiting for etcd, kube-system/dns to be Ready', [lookAt('etcd')], 'etcd, kube-system/dns becomes Ready'],
    ['Waiting for db, which no manifest declares', [declare('db')], 'manifests change'],
    [
      'Waiting for etcd to be Ready. Waiting for db, which no manifest declares',
      [declare('db'), lookAt('etcd')],
      'manifests change',
    ],
    [
      'Waiting for etcd to be Ready. Waiting for db, which no manifest declares; the revision before this one runs on ' +
        'until then',
      [declare('db'), lookAt('etcd')],
      'manifests change',
    ],
  ])('%s', (message, ways, nextTryWhen) => {
    expect(waysOf(message)).toEqual({ stage: 'start order', ways, nextTryWhen });
  });
});
