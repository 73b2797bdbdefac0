import { describe, expect, test } from 'vitest';
import { explainPod } from '../../../src/engine/explain/explain-pod.ts';
import type { EventCause, KubeletEvent } from '../../../src/engine/view/events.ts';
import { makePod } from '../../builders/pods.ts';

const node = {
  runtime: { endpoint: 'unix:///x', chosenBecause: '', name: 'fake', version: '1' },
  pressures: [],
  sources: [],
  pods: [],
};

/** The ways out for a pod that was evicted for this cause. */
function waysOf(cause: EventCause | undefined): string[] {
  const message = 'Container app exceeded its local ephemeral storage limit "10Mi". ';
  const pod = makePod({ status: { phase: 'Failed', reason: 'Evicted', message } });
  const evicted = { type: 'Recorded', at: 0, eventType: 'Warning', reason: 'Evicted', message } as const;
  const events: KubeletEvent[] = [{ ...evicted, ...(cause && { cause }) }];
  return explainPod({ pod, node, worker: { state: 'finished', working: false, pending: false }, events }).ways;
}

const raise = ['Raise the limit (sizeLimit, or limits of ephemeral-storage), or let the pod write less.'];
const free = [
  'Free what the node lacks: df -h; free -m; kubelet-ts top',
  'Or raise resources.requests of the pod, so that others are evicted first.',
];

describe('the ways out for an evicted pod fit its limit or the node:', () => {
  test.each([
    ['a limit of its own', 'storageLimit', raise],
    ['a shortage of the node', undefined, free],
  ] as const)('%s', (_what, cause, ways) => {
    expect(waysOf(cause)).toEqual(ways);
  });
});
