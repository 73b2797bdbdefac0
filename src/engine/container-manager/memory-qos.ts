import type { CgroupSettings } from './cgroup-settings.ts';
import type { CgroupLimits } from './pod-cgroup-limits.ts';

/** True if the kernel knows the settings of MemoryQoS, but its gate is off. The kubelet leaves earlier settings. */
export function lacksMemoryQoS({
  cgroupVersion,
  memoryQoS,
}: Pick<CgroupSettings['containerNode']['resources'], 'cgroupVersion' | 'memoryQoS'>): boolean {
  return cgroupVersion === 2 && memoryQoS === undefined;
}

/** The settings of a cgroup that keeps no memory. */
export const noReservation: CgroupLimits = { memoryMinBytes: 0n, memoryLowBytes: 0n, hugePageLimits: new Map() };
