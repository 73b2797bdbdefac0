import type { EvictionSignal } from '../../../src/api/values/eviction-thresholds.ts';
import type { Pod } from '../../../src/api/types.ts';
import type { DiskLayout } from '../../../src/engine/eviction/disk-layout.ts';
import type { PodUsage } from '../../../src/engine/eviction/node-summary.ts';
import { rankPods } from '../../../src/engine/eviction/rank-pods.ts';
import { tableAdapter } from '../table-adapter.ts';

type In = DiskLayout & { signal: EvictionSignal; pods: Pod[]; podStats: PodUsage[] };

export const evictionRank = tableAdapter<In>('eviction-rank', ({ signal, pods, podStats, ...layout }) => {
  const usageOf = ({ metadata }: Pod): PodUsage | undefined =>
    podStats.find(({ podRef }) => podRef.uid === metadata.uid);
  return { order: rankPods(pods, signal, usageOf, layout).map(({ metadata }) => metadata.uid) };
});
