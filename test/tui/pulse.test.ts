import { expect, test } from 'vitest';
import { initialPulse, nextPulse } from '../../src/tui/pulse.ts';
import { makeEntry, makeSnapshot, noon, refOf } from './make-snapshot.ts';

const relisted = (lastRelistAt: number, lastRelistMs: number) =>
  makeSnapshot([], { pleg: { mode: 'generic', lastRelistAt, lastRelistMs } });

test('starts with the last relist, and with the last sync of each pod in their order', () => {
  const pods = [
    makeEntry('b', { worker: { lastSyncAt: noon - 1000, lastSyncMs: 8, lastSyncError: 'no image' } }),
    makeEntry('a', { worker: { lastSyncAt: noon - 2000, lastSyncMs: 5 } }),
  ];
  expect(initialPulse(makeSnapshot(pods))).toEqual({
    relists: [{ at: noon - 3000, ms: 4 }],
    syncs: [
      { at: noon - 2000, ms: 5, isFailed: false },
      { at: noon - 1000, ms: 8, isFailed: true },
    ],
  });
});

test('adds each relist once, and the syncs among the events', () => {
  const first = initialPulse(relisted(noon, 4));
  const same = nextPulse(first, relisted(noon, 4), []);
  const finished = { at: noon, type: 'SyncFinished' as const, pod: refOf('web'), durationMs: 7, nextSyncAt: noon };
  const next = nextPulse(same, relisted(noon + 1000, 9), [finished, { ...finished, error: 'no image' }]);
  expect([same, next]).toEqual([
    first,
    {
      relists: [
        { at: noon, ms: 4 },
        { at: noon + 1000, ms: 9 },
      ],
      syncs: [
        { at: noon, ms: 7, isFailed: false },
        { at: noon, ms: 7, isFailed: true },
      ],
    },
  ]);
});
