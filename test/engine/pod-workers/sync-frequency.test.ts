import { expect, test } from 'vitest';
import { delayAfterSync } from './delay-after-sync.ts';

test.each([
  [0, 5000],
  [0.5, 6250],
])(
  'a pod that was synced is due again after the sync frequency and up to half of it more: %d',
  async (chance, delay) => {
    const syncPod = (): Promise<boolean> => Promise.resolve(false);
    expect(await delayAfterSync({ syncPod, syncFrequencyMs: 5000, chance })).toBe(delay);
  },
);
