import type { Pod, Volume } from '../../api/types.ts';
import type { PodDiskUsage, UsedDisk } from './disk-usage-cache.ts';
import { cpuStats, diskStats, memoryStats, swapStats } from './usage-stats.ts';
import type { FilesystemSize } from './filesystem-stats.ts';
import type { RuntimeContainerUsage, RuntimePodUsage } from './runtime-usage.ts';
import type { StatsPod } from './stats-pods.ts';
import type {
  ContainerStats,
  CPUStats,
  FsStats,
  MemoryStats,
  NetworkStats,
  PodStats,
  SwapStats,
  VolumeStats,
} from './summary.ts';
import type { Reading } from './usage-reader.ts';

/** Sources for a container in addition to its cgroup. */
export interface ContainerSources {
  runtime: RuntimeContainerUsage | undefined;
  /** Free swap of the machine, in bytes. */
  swapFreeBytes: number | undefined;
  /** The disk with its writable layer. */
  layerDisk: FilesystemSize | undefined;
  logs: UsedDisk | undefined;
  rootFs: FilesystemSize | undefined;
}

/** Sources for a pod in addition to its cgroup. */
export interface PodSources {
  runtime: RuntimePodUsage | undefined;
  network: NetworkStats | undefined;
  disk: PodDiskUsage | undefined;
  /** Usage of volumes whose drivers report it. */
  driverVolumes: readonly VolumeStats[];
  rootFs: FilesystemSize | undefined;
  /** Undefined if the pod has no manifest. */
  pod: Pod | undefined;
}

/**
 * Prefers values of the cgroup, because those of a runtime may be old. kubelet: stats/cri_stats_provider.go
 * makeContainerStats
 */
export function containerStats(
  { name, startedAt }: StatsPod['containers'][number],
  reading: Reading,
  { runtime, swapFreeBytes, layerDisk, logs, rootFs }: ContainerSources,
): ContainerStats {
  const { time, cgroup } = reading;
  const cpu = cpuStats(reading, runtime?.cpu);
  const memory = cgroup?.memory ? memoryStats(cgroup, time) : runtime?.memory;
  const swap = cgroup?.memory ? containerSwap(reading, swapFreeBytes) : runtime?.swap;
  const stats: ContainerStats = { name, startTime: new Date(startedAt).toISOString() };
  if (cpu) stats.cpu = cpu;
  if (memory) stats.memory = memory;
  if (runtime?.writableLayer) stats.rootfs = diskStats(runtime.writableLayer, layerDisk);
  if (logs) stats.logs = diskStats(logs, rootFs);
  if (swap) stats.swap = swap;
  if (cgroup?.psi?.io) stats.io = { time, psi: cgroup.psi.io };
  return stats;
}

/** If neither a cgroup nor the runtime reports a pod's usage, returns the sum of its containers. */
export function podStats(
  { name, namespace, uid, startedAt }: StatsPod,
  containers: ContainerStats[],
  reading: Reading,
  { runtime, network: ownNetwork, disk, driverVolumes, rootFs, pod }: PodSources,
): PodStats {
  const { time, cgroup } = reading;
  const cpu = cpuStats(reading, runtime?.cpu) ?? sumCPU(containers);
  const memory = cgroup?.memory ? memoryStats(cgroup, time) : (runtime?.memory ?? sumMemory(containers));
  const network = ownNetwork ?? runtime?.network;
  const ephemeralStorage = ephemeralStorageStats(containers, disk, rootFs, pod);
  const processCount = cgroup?.tasks ?? runtime?.processCount;
  const swap = cgroup && swapStats(cgroup, time);
  const stats: PodStats = {
    podRef: { name, namespace, uid },
    startTime: new Date(startedAt).toISOString(),
    containers,
  };
  if (cpu) stats.cpu = cpu;
  if (memory) stats.memory = memory;
  if (network) stats.network = network;
  const volumes = disk?.volumes ?? [];
  if (driverVolumes.length + volumes.length > 0) stats.volume = [...driverVolumes, ...volumes];
  if (ephemeralStorage) stats['ephemeral-storage'] = ephemeralStorage;
  if (processCount !== undefined) stats.process_stats = { process_count: processCount };
  if (swap) stats.swap = swap;
  if (cgroup?.psi?.io) stats.io = { time, psi: cgroup.psi.io };
  return stats;
}

/** Returns swap usage. A container can use the machine's free swap, up to its limit. */
function containerSwap({ time, cgroup }: Reading, swapFreeBytes = 0): SwapStats | undefined {
  const swap = cgroup && swapStats(cgroup, time);
  return swap && { ...swap, swapAvailableBytes: Math.min(swap.swapAvailableBytes ?? swapFreeBytes, swapFreeBytes) };
}

/** kubelet: stats/helper.go calcEphemeralStorage */
function ephemeralStorageStats(
  containers: readonly ContainerStats[],
  disk: PodDiskUsage | undefined,
  rootFs: FilesystemSize | undefined,
  pod: Pod | undefined,
): FsStats | undefined {
  const sum = { time: '', usedBytes: 0, inodesUsed: 0 };
  const add = (part: FsStats | undefined): void => {
    if (part === undefined) return;
    if (part.time > sum.time) sum.time = part.time;
    sum.usedBytes += part.usedBytes ?? 0;
    sum.inodesUsed += part.inodesUsed ?? 0;
  };
  for (const { rootfs, logs } of containers) {
    add(rootfs);
    add(logs);
  }
  for (const volume of disk?.volumes ?? []) {
    if (pod?.spec.volumes?.some((declared) => declared.name === volume.name && isLocalEphemeral(declared))) add(volume);
  }
  add(disk?.hostsFile);
  return sum.time === '' ? undefined : diskStats(sum, rootFs);
}

/** kubelet: pkg/volume/util/util.go IsLocalEphemeralVolume */
function isLocalEphemeral({ emptyDir, configMap, gitRepo }: Volume): boolean {
  return Boolean(configMap ?? gitRepo) || (emptyDir !== undefined && (emptyDir.medium ?? '') === '');
}

function sumCPU(containers: readonly ContainerStats[]): CPUStats | undefined {
  return sumOf(
    containers.flatMap(({ cpu }) => cpu ?? []),
    ['usageNanoCores', 'usageCoreNanoSeconds'],
  );
}

function sumMemory(containers: readonly ContainerStats[]): MemoryStats | undefined {
  return sumOf(
    containers.flatMap(({ memory }) => memory ?? []),
    ['usageBytes', 'workingSetBytes', 'rssBytes', 'pageFaults', 'majorPageFaults'],
  );
}

/** Sums each of these values that all parts have. Returns undefined if there are no parts. */
function sumOf<K extends string>(
  parts: readonly ({ time: string } & Partial<Record<K, number>>)[],
  figures: readonly K[],
): ({ time: string } & Partial<Record<K, number>>) | undefined {
  const [first] = parts;
  if (first === undefined) return undefined;
  const sums: Partial<Record<K, number>> = {};
  for (const figure of figures) {
    const values = parts.flatMap((part) => part[figure] ?? []);
    if (values.length === parts.length) sums[figure] = values.reduce<number>((sum, value) => sum + value, 0);
  }
  return { time: first.time, ...sums };
}
