import { expect, test } from 'vitest';
import { parseEvictionThresholds } from '../../../src/api/values/eviction-thresholds.ts';
import { EvictionManager } from '../../../src/engine/eviction/eviction-manager.ts';

test('a disk that stays full keeps as many thresholds as it exceeds, each since it was first seen', async () => {
  const settings = { evictionHard: {}, evictionMinimumReclaim: {}, enforceNodeAllocatable: [] };
  const soft = { evictionSoft: { 'nodefs.available': '50%' }, evictionSoftGracePeriod: { 'nodefs.available': '25s' } };
  let nowMs = 0;
  const manager = new EvictionManager({
    config: {
      thresholds: parseEvictionThresholds({ ...settings, ...soft }) ?? [],
      pressureTransitionMs: 0,
      maxPodGracePeriodSeconds: 0,
      policy: 'kubelet',
    },
    diskLayout: () => Promise.resolve({ dedicatedImageFs: false, splitContainerImageFs: false }),
    enforcesStorageLimits: false,
    summary: () => {
      const disk = { time: new Date(nowMs).toISOString(), availableBytes: 1, capacityBytes: 100 };
      return Promise.resolve({ node: { fs: disk, runtime: { imageFs: disk, containerFs: disk } }, pods: [] });
    },
    withPods: (summary) => Promise.resolve(summary),
    activePods: () => [],
    reclaim: () => Promise.resolve(),
    onObserved: () => undefined,
    onThresholdMet: () => undefined,
    evict: () => undefined,
    clock: { monotonic: () => nowMs },
    wallClock: { monotonicAt: (stamp) => stamp },
  });
  const seen: object[] = [];
  for (; nowMs < 60_000; nowMs += 10_000) {
    await manager.synchronize();
    const names = (thresholds: readonly { signal: string }[]): string[] => thresholds.map(({ signal }) => signal);
    seen.push({ exceeded: names(manager.thresholdsExceeded), met: names(manager.thresholdsMet) });
  }
  const both = ['nodefs.available', 'containerfs.available'];
  expect(seen).toEqual([
    { exceeded: ['nodefs.available'], met: [] },
    { exceeded: both, met: [] },
    { exceeded: both, met: [] },
    { exceeded: both, met: ['nodefs.available'] },
    { exceeded: both, met: both },
    { exceeded: both, met: both },
  ]);
});
