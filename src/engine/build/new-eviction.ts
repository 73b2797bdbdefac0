import type { Pod } from '../../api/types.ts';
import type { EvictionSignal } from '../../api/values/eviction-thresholds.ts';
import { diskLayoutOfRuntime } from '../eviction/disk-layout-of-runtime.ts';
import { EmptyDirUsage } from '../eviction/empty-dir-usage.ts';
import { EvictionLoop } from '../eviction/eviction-loop.ts';
import { NodeConditions } from '../eviction/node-conditions.ts';
import type { NodeSummary } from '../eviction/node-summary.ts';
import { PodEvictions } from '../eviction/pod-evictions.ts';
import {
  disks,
  memory,
  nearPeriodsMs,
  type SignalReading,
  type SignalReadings,
  ThresholdWatch,
} from '../eviction/threshold-watch.ts';
import type { KubeletBase } from './kubelet-deps.ts';
import type { Collectors } from './new-collectors.ts';
import type { PodState } from './new-pod-state.ts';
import type { Workers } from './new-pod-workers.ts';
import { podsCgroupOf } from '../container-manager/cgroup-settings.ts';
import type { Volumes } from './new-volumes.ts';
import { workersEnded } from '../pod-workers/workers-ended.ts';
import { readNodeStats } from '../stats/node-stats.ts';
import type { StatsProvider } from '../stats/stats-provider.ts';
import type { MemoryStats } from '../stats/summary.ts';
import { UsageReader } from '../stats/usage-reader.ts';

type Earlier = PodState & Workers & Collectors & Volumes & { stats: StatsProvider };

interface Engine {
  /** Called when the node is no longer under pressure. */
  onRelieved: () => void;
}

/** Creates the components that watch the node's resources, and evict pods when they run short. */
export function newEviction(base: KubeletBase, earlier: Earlier, { onRelieved }: Engine) {
  const { clock, emit, events, meter, node, wallClock } = base;
  const { containerCollector, imageCollector, podManager, statusManager, volumeManager, workers } = earlier;
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
    entryOf: (uid) => podManager.entry(uid),
    evictedPods: () => podManager.entriesWith('eviction'),
    mayBeUnderPressure: () => conditions.pressures.length > 0 || (evictionLoop.isNeeded && !conditions.areKnown),
    meter,
    emit,
    clock,
  });
  const activePods = (): Pod[] =>
    workers.activePods().filter(({ metadata }) => !workers.isPodTerminationRequested(metadata.uid));
  const memoryWatch = newMemoryWatch(base);
  const diskWatch = newDiskWatch(base);
  const evictionLoop: EvictionLoop = new EvictionLoop({
    config: node.eviction,
    enforcesStorageLimits: node.localStorageCapacityIsolation,
    diskLayout: (signal) => diskLayoutOfRuntime({ ...base, rootDir: node.rootDir }, signal),
    stats: earlier.stats,
    emptyDirs: new EmptyDirUsage({ pods: activePods, volumeManager, clock, logger }),
    notices: [memoryWatch, diskWatch],
    onSummary: (summary) => {
      memoryWatch.observe(memoryReadings(summary));
      diskWatch.observe(diskReadings(summary.fs, summary.runtime?.imageFs));
    },
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
  return { conditions, evictions, memoryWatch, diskWatch, evictionLoop };
}

/** Creates the memory watch that wakes eviction. It reads nothing until it runs. */
function newMemoryWatch({ clock, node, statsHost }: KubeletBase): ThresholdWatch {
  const reader = new UsageReader({ host: statsHost, clock });
  const podsCgroup = podsCgroupOf(node);
  return new ThresholdWatch({
    ...memory,
    thresholds: node.eviction.thresholds,
    read: () => {
      const read = readNodeStats(reader, { podsCgroup, wanted: {} });
      reader.endSample();
      return memoryReadings(read);
    },
    nearPeriodMs: node.kernelMemcgNotification ? nearPeriodsMs.notifying : nearPeriodsMs.normal,
    clock,
  });
}

/** The same for the disks of the root-dir and of images. */
function newDiskWatch({ clock, imageService, node, readFilesystem }: KubeletBase): ThresholdWatch {
  let imageFolder = '';
  return new ThresholdWatch({
    ...disks,
    thresholds: node.eviction.thresholds,
    read: async () => {
      if (imageFolder === '') {
        const { imageFilesystems } = await imageService.imageFsInfo({}).catch(() => ({ imageFilesystems: [] }));
        imageFolder = imageFilesystems[0]?.fsId?.mountpoint ?? '';
      }
      const read = async (path: string): Promise<SignalReading | undefined> => {
        if (path === '') return undefined;
        const { availableBytes, capacityBytes } = await readFilesystem(path);
        return { availableBytes: Number(availableBytes), capacityBytes: Number(capacityBytes) };
      };
      const [nodefs, imagefs] = await Promise.all(
        [node.rootDir, imageFolder].map((path) => read(path).catch(() => undefined)),
      );
      return diskReadings(nodefs, imagefs);
    },
    nearPeriodMs: nearPeriodsMs.normal,
    clock,
  });
}

function memoryReadings({ memory, systemContainers = [] }: NodeSummary['node']): SignalReadings {
  const pods = systemContainers.find(({ name }) => name === 'pods')?.memory;
  return readings(['memory.available', readingOf(memory)], ['allocatableMemory.available', readingOf(pods)]);
}

function diskReadings(
  nodefs: Partial<SignalReading> | undefined,
  imagefs: Partial<SignalReading> | undefined,
): SignalReadings {
  return readings(['nodefs.available', completed(nodefs)], ['imagefs.available', completed(imagefs)]);
}

function completed({ availableBytes, capacityBytes }: Partial<SignalReading> = {}): SignalReading | undefined {
  return availableBytes === undefined || capacityBytes === undefined ? undefined : { availableBytes, capacityBytes };
}

function readings(...read: [EvictionSignal, SignalReading | undefined][]): Map<EvictionSignal, SignalReading> {
  return new Map(read.flatMap(([signal, reading]) => (reading === undefined ? [] : [[signal, reading]])));
}

function readingOf({ availableBytes, workingSetBytes }: Partial<MemoryStats> = {}): SignalReading | undefined {
  if (availableBytes === undefined || workingSetBytes === undefined) return undefined;
  return { availableBytes, capacityBytes: availableBytes + workingSetBytes };
}
