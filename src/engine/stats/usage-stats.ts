import type { CgroupUsage } from './cgroup-usage.ts';
import type { FilesystemSize } from './filesystem-stats.ts';
import type { RuntimeCPU } from './runtime-usage.ts';
import type { CPUStats, FsStats, MemoryStats, SwapStats } from './summary.ts';
import type { Reading } from './usage-reader.ts';

/** Returns the CPU usage of a reading. Returns undefined if neither its cgroup nor the runtime reports it. */
export function cpuStats(
  { time, cgroup, usageNanoCores }: Omit<Reading, 'isIdle'>,
  runtime?: RuntimeCPU,
): CPUStats | undefined {
  if (cgroup?.cpuNanos === undefined)
    return runtime && cpuUsage(new Date(runtime.at).toISOString(), usageNanoCores, runtime.nanos);
  const stats = cpuUsage(time, usageNanoCores, cgroup.cpuNanos);
  if (cgroup.psi?.cpu) stats.psi = cgroup.psi.cpu;
  return stats;
}

/** Here and below, values are assigned one by one, because a sample has hundreds of these. */
function cpuUsage(time: string, usageNanoCores: number | undefined, usageCoreNanoSeconds: number): CPUStats {
  const stats: CPUStats = { time };
  if (usageNanoCores !== undefined) stats.usageNanoCores = usageNanoCores;
  stats.usageCoreNanoSeconds = usageCoreNanoSeconds;
  return stats;
}

/** Returns the memory usage of a cgroup. kubelet: stats/helper.go cadvisorInfoToCPUandMemoryStats */
export function memoryStats({ memory, psi }: CgroupUsage, time: string): MemoryStats | undefined {
  if (memory === undefined) return undefined;
  const { usageBytes, workingSetBytes, rssBytes, pageFaults, majorPageFaults, limitBytes } = memory;
  const stats: MemoryStats = { time };
  if (limitBytes !== undefined) stats.availableBytes = Math.max(0, limitBytes - workingSetBytes);
  stats.usageBytes = usageBytes;
  stats.workingSetBytes = workingSetBytes;
  if (rssBytes !== undefined) stats.rssBytes = rssBytes;
  if (pageFaults !== undefined) stats.pageFaults = pageFaults;
  if (majorPageFaults !== undefined) stats.majorPageFaults = majorPageFaults;
  if (psi?.memory) stats.psi = psi.memory;
  return stats;
}

/** Returns the swap usage of a cgroup. kubelet: stats/helper.go cadvisorInfoToSwapStats */
export function swapStats({ memory }: CgroupUsage, time: string): SwapStats | undefined {
  const { swapBytes, swapLimitBytes } = memory ?? {};
  if (swapBytes === undefined) return undefined;
  const stats: SwapStats = { time };
  if (swapLimitBytes !== undefined) stats.swapAvailableBytes = Math.max(0, swapLimitBytes - swapBytes);
  stats.swapUsageBytes = swapBytes;
  return stats;
}

/**
 * Returns how much of a disk images, writable layers, logs or volumes use. The free space is that of the whole disk.
 */
export function diskStats(used: Pick<FsStats, 'time' | 'usedBytes' | 'inodesUsed'>, disk?: FilesystemSize): FsStats {
  const { time, usedBytes, inodesUsed } = used;
  const stats: FsStats = { time };
  if (disk) {
    stats.availableBytes = disk.availableBytes;
    stats.capacityBytes = disk.capacityBytes;
  }
  if (usedBytes !== undefined) stats.usedBytes = usedBytes;
  if (disk) {
    stats.inodesFree = disk.inodesFree;
    stats.inodes = disk.inodes;
  }
  if (inodesUsed !== undefined) stats.inodesUsed = inodesUsed;
  return stats;
}
