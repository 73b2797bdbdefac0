import type { EvictionSignal } from '../api/values/eviction-thresholds.ts';
import { type MemoryFigure, MemoryWatch, nearPeriodsMs } from './eviction/memory-watch.ts';
import type { KubeletDeps } from './kubelet-deps.ts';
import { podsCgroupOf } from './new-stats.ts';
import { readNodeStats } from './stats/node-stats.ts';
import type { MemoryStats } from './stats/summary.ts';
import { UsageReader } from './stats/usage-reader.ts';

/** Makes the watch that wakes eviction. It reads nothing before it runs. */
export function newMemoryWatch({ clock, node, statsHost }: Pick<KubeletDeps, 'clock' | 'node' | 'statsHost'>) {
  const reader = new UsageReader({ host: statsHost, clock });
  const podsCgroup = podsCgroupOf(node);
  return new MemoryWatch({
    thresholds: node.eviction.thresholds,
    read: () => {
      const { memory, systemContainers = [] } = readNodeStats(reader, { podsCgroup, wanted: {} });
      reader.endSample();
      const pods = systemContainers.find(({ name }) => name === 'pods')?.memory;
      const figures: [EvictionSignal, MemoryFigure | undefined][] = [
        ['memory.available', figureOf(memory)],
        ['allocatableMemory.available', figureOf(pods)],
      ];
      return new Map(figures.flatMap(([signal, figure]) => (figure === undefined ? [] : [[signal, figure]])));
    },
    nearPeriodMs: node.kernelMemcgNotification ? nearPeriodsMs.notifying : nearPeriodsMs.normal,
    clock,
  });
}

function figureOf({ availableBytes, workingSetBytes }: Partial<MemoryStats> = {}): MemoryFigure | undefined {
  if (availableBytes === undefined || workingSetBytes === undefined) return undefined;
  return { availableBytes, capacityBytes: availableBytes + workingSetBytes };
}
