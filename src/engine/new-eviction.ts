import type { Pod } from '../api/types.ts';
import type { EvictionSignal } from '../api/values/eviction-thresholds.ts';
import { diskLayoutOfRuntime } from './eviction/disk-layout-of-runtime.ts';
import { EmptyDirUsage } from './eviction/empty-dir-usage.ts';
import { EvictionLoop } from './eviction/eviction-loop.ts';
import { type MemoryFigure, MemoryWatch, nearPeriodsMs } from './eviction/memory-watch.ts';
import { NodeConditions } from './eviction/node-conditions.ts';
import { PodEvictions } from './eviction/pod-evictions.ts';
import type { KubeletBase } from './kubelet-deps.ts';
import type { Collectors } from './new-collectors.ts';
import type { PodState } from './new-pod-state.ts';
import type { Workers } from './new-pod-workers.ts';
import { podsCgroupOf } from './new-stats.ts';
import type { Volumes } from './new-volumes.ts';
import { workersEnded } from './pod-workers/workers-ended.ts';
import { readNodeStats } from './stats/node-stats.ts';
import type { StatsProvider } from './stats/stats-provider.ts';
import type { MemoryStats } from './stats/summary.ts';
import { UsageReader } from './stats/usage-reader.ts';

type Earlier = Pick<PodState, 'statusManager' | 'evictionRecords'> &
  Pick<Workers, 'workers'> &
  Pick<Collectors, 'containerCollector' | 'imageCollector'> &
  Pick<Volumes, 'volumeManager'> & { stats: StatsProvider };

interface Engine {
  /** Called when the node is no longer under pressure. */
  onRelieved: () => void;
}

/** Makes the parts that watch the node's resources, and evict pods when they run short. */
export function newEviction(base: KubeletBase, earlier: Earlier, { onRelieved }: Engine) {
  const { clock, emit, events, meter, node, wallClock } = base;
  const { containerCollector, imageCollector, statusManager, volumeManager, workers } = earlier;
  const logger = base.logger.child({ component: 'eviction' });
  const conditions: NodeConditions = new NodeConditions({
    nodeName: node.nodeName,
    clock,
    emit,
    onRelieved: () => {
      evictions.relieved();
      onRelieved();
    },
  });
  const evictions: PodEvictions = new PodEvictions({
    workers,
    statusManager,
    records: earlier.evictionRecords,
    mayBeUnderPressure: () => conditions.pressures.length > 0 || (evictionLoop.isNeeded && !conditions.areKnown),
    meter,
    emit,
    clock,
  });
  const activePods = (): Pod[] =>
    workers.activePods().filter(({ metadata }) => !workers.isPodTerminationRequested(metadata.uid));
  const memoryWatch = newMemoryWatch(base);
  const evictionLoop: EvictionLoop = new EvictionLoop({
    config: node.eviction,
    enforcesStorageLimits: node.localStorageCapacityIsolation,
    diskLayout: (signal) => diskLayoutOfRuntime({ ...base, rootDir: node.rootDir }, signal),
    stats: earlier.stats,
    emptyDirs: new EmptyDirUsage({ pods: activePods, volumeManager, clock, logger }),
    memoryNotices: memoryWatch,
    activePods,
    reclaim: (what, signal) =>
      what === 'deadContainers'
        ? containerCollector.deleteAllUnusedContainers(signal)
        : imageCollector.deleteUnusedImages(signal),
    evict: (pod, eviction) => {
      evictions.evict(pod, eviction);
    },
    cleanedUp: async (pods) => {
      const uids = pods.map(({ metadata }) => metadata.uid);
      const unfinished = uids.filter((uid) => workers.snapshot(uid).state !== 'finished');
      await Promise.all(workersEnded(events, unfinished).values());
    },
    conditions,
    clock,
    wallClock,
    emit,
    logger,
  });
  return { conditions, evictions, memoryWatch, evictionLoop };
}

/** Makes the watch that wakes eviction. It reads nothing before it runs. */
function newMemoryWatch({ clock, node, statsHost }: KubeletBase): MemoryWatch {
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
