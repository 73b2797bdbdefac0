import { describe, expect, test } from 'vitest';
import { explainPod } from '../../../src/engine/explain/explain-pod.ts';
import { makePod } from '../../builders/pods.ts';

const node = {
  runtime: { endpoint: 'unix:///x', chosenBecause: '', name: 'fake', version: '1' },
  pressures: [],
  sources: [],
  pods: [],
};

/** The ways out for a pod that was evicted with this message. */
function waysOf(message: string): string[] {
  const pod = makePod({ status: { phase: 'Failed', reason: 'Evicted', message } });
  return explainPod({ pod, node, worker: { state: 'finished', working: false, pending: false } }).ways;
}

const raise = ['Raise the limit (sizeLimit, or limits of ephemeral-storage), or let the pod write less.'];
const free = [
  'Free what the node lacks: df -h; free -m; kubelet-ts top',
  'Or raise resources.requests of the pod, so that others are evicted first.',
];

describe('the ways out for an evicted pod fit its limit or the node:', () => {
  test.each([
    ['Usage of EmptyDir volume "cache" exceeds the limit "5Mi". ', raise],
    ['Pod ephemeral local storage usage exceeds the total limit of containers 30Mi. ', raise],
    ['Container app exceeded its local ephemeral storage limit "10Mi". ', raise],
    ['The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 900Mi. ', free],
  ])('%s', (message, ways) => {
    expect(waysOf(message)).toEqual(ways);
  });
});
