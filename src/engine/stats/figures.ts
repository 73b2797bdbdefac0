import type { CgroupUsage } from './cgroup-usage.ts';
import type { FilesystemFigures } from './filesystem-stats.ts';
import type { RuntimeCPU } from './runtime-figures.ts';
import type { CPUStats, FsStats, MemoryStats, SwapStats } from './summary.ts';
import type { Reading } from './usage-reader.ts';

/** CPU usage of a reading. Returns undefined if neither its cgroup nor the runtime reports it. */
export function cpuStats({ time, cgroup, usageNanoCores }: Reading, runtime?: RuntimeCPU): CPUStats | undefined {
  const rate = usageNanoCores === undefined ? {} : { usageNanoCores };
  if (cgroup?.cpuNanos !== undefined) {
    const { cpuNanos, psi } = cgroup;
    return { time, ...rate, usageCoreNanoSeconds: cpuNanos, ...(psi?.cpu && { psi: psi.cpu }) };
  }
  if (runtime === undefined) return undefined;
  return { time: new Date(runtime.at).toISOString(), ...rate, usageCoreNanoSeconds: runtime.nanos };
}

/** Memory of a cgroup. kubelet: stats/helper.go cadvisorInfoToCPUandMemoryStats */
export function memoryStats({ memory, psi }: CgroupUsage, time: string): MemoryStats | undefined {
  if (memory === undefined) return undefined;
  const { usageBytes, workingSetBytes, rssBytes, pageFaults, majorPageFaults, limitBytes } = memory;
  return {
    time,
    ...(limitBytes !== undefined && { availableBytes: Math.max(0, limitBytes - workingSetBytes) }),
    usageBytes,
    workingSetBytes,
    ...(rssBytes !== undefined && { rssBytes }),
    ...(pageFaults !== undefined && { pageFaults }),
    ...(majorPageFaults !== undefined && { majorPageFaults }),
    ...(psi?.memory && { psi: psi.memory }),
  };
}

/** Swap of a cgroup. kubelet: stats/helper.go cadvisorInfoToSwapStats */
export function swapStats({ memory }: CgroupUsage, time: string): SwapStats | undefined {
  const { swapBytes, swapLimitBytes } = memory ?? {};
  if (swapBytes === undefined) return undefined;
  return {
    time,
    ...(swapLimitBytes !== undefined && { swapAvailableBytes: Math.max(0, swapLimitBytes - swapBytes) }),
    swapUsageBytes: swapBytes,
  };
}

/** The part of a disk that images, writable layers, logs or volumes take. Free space is that of the whole disk. */
export function diskStats(used: Pick<FsStats, 'time' | 'usedBytes' | 'inodesUsed'>, disk?: FilesystemFigures): FsStats {
  const { time, usedBytes, inodesUsed } = used;
  return {
    time,
    ...(disk && { availableBytes: disk.availableBytes, capacityBytes: disk.capacityBytes }),
    ...(usedBytes !== undefined && { usedBytes }),
    ...(disk && { inodesFree: disk.inodesFree, inodes: disk.inodes }),
    ...(inodesUsed !== undefined && { inodesUsed }),
  };
}
