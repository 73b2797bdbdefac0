import { expect, test } from 'vitest';
import { nextSyncDelay } from '../../../src/engine/pod-workers/next-sync-delay.ts';
import { delayAfterSync } from './delay-after-sync.ts';

test.each([
  [0, 60_000],
  [0.9, 80_000],
])(
  'a pod that was synced is due again after the sync frequency and up to half of it more: %d',
  async (chance, delay) => {
    const syncPod = (): Promise<boolean> => Promise.resolve(false);
    expect(await delayAfterSync({ syncPod, syncFrequencyMs: 60_000, chance })).toBe(delay);
  },
);

test.each([
  [60_000, 20_000],
  [6000, 2000],
  [600_000, 20_000],
])('syncs every %d ms come in rounds of %d ms, none of them early or late', (syncFrequencyMs, roundMs) => {
  for (let step = 0; step < 1000; step += 1) {
    const nowMonotonic = step * 123;
    const delayMs = nextSyncDelay(undefined, { syncFrequencyMs, random: () => (step % 100) / 100, nowMonotonic });
    expect((nowMonotonic + delayMs) % roundMs).toBe(0);
    expect(delayMs).toBeGreaterThanOrEqual(syncFrequencyMs);
    expect(delayMs).toBeLessThanOrEqual(1.5 * syncFrequencyMs);
  }
});
