import { expect, test } from 'vitest';
import { type ListedPod, shownRevisions } from '../../../src/engine/listing/shown-revisions.ts';
import type { PodWorkerState } from '../../../src/engine/view/pod-worker-state.ts';
import { makePod } from '../../builders/pods.ts';

function revision(name: string, uid: string, state: PodWorkerState, replacedBy?: string): ListedPod {
  const worker = { state, working: false, pending: false };
  return { pod: makePod({ metadata: { name, uid } }), worker, ...(replacedBy !== undefined && { replacedBy }) };
}

const uids = (pods: ListedPod[]): string[] =>
  shownRevisions(pods).map(
    ({ listed, update }) => `${listed.pod.metadata.uid}${update === undefined ? '' : ` > ${update.pod.metadata.uid}`}`,
  );

test('a pod with one revision is shown as it is', () => {
  expect(uids([revision('dns', 'd1', 'sync'), revision('web', 'w1', 'sync')])).toEqual(['d1', 'w1']);
});

test('shows the running revision, with the declared one that waits', () => {
  expect(
    uids([
      revision('web', 'w1', 'terminating', 'w3'),
      revision('web', 'w2', 'sync', 'w3'),
      revision('web', 'w3', 'waiting'),
      revision('zoo', 'z1', 'sync'),
    ]),
  ).toEqual(['w2 > w3', 'z1']);
});

test('one that ends is shown until it is gone', () => {
  expect(uids([revision('web', 'w1', 'terminating', 'w2'), revision('web', 'w2', 'waiting')])).toEqual(['w1 > w2']);
});

test('pods of which nobody knows what is declared are all shown', () => {
  expect(uids([revision('web', 'w1', 'sync'), revision('web', 'w2', 'sync')])).toEqual(['w1', 'w2']);
});
