import { type CgroupDriver, cgroupPath, qosCgroups } from './cgroup-names.ts';
import type { NodeAllocatableSettings } from './node-allocatable.ts';

/** The node settings that cgroups depend on. */
export interface CgroupSettings {
  cgroupDriver: CgroupDriver;
  cgroupRoot: string;
  cgroupsPerQOS: boolean;
  nodeAllocatable: NodeAllocatableSettings;
  /** Maximum number of processes of a pod. No limit if it is not positive. */
  podPidsLimit: number;
  /** True if content of memory-backed volumes can reach the disk. */
  isTmpfsSwapped: boolean;
  containerNode: {
    resources: {
      cgroupVersion: 1 | 2;
      cpuCFSQuota: boolean;
      cpuCFSQuotaPeriodMicros: number;
      hugePageSizes: readonly bigint[];
      /** Set with the feature gate MemoryQoS, on cgroup v2 only. */
      memoryQoS?: { reservesMemory: boolean } | undefined;
    };
  };
}

/** Path of the cgroup that contains all pods, below the mount. */
export function podsCgroupOf({
  cgroupRoot,
  cgroupsPerQOS,
  cgroupDriver,
}: Pick<CgroupSettings, 'cgroupRoot' | 'cgroupsPerQOS' | 'cgroupDriver'>): string {
  return cgroupsPerQOS ? cgroupPath(qosCgroups(cgroupRoot).root, cgroupDriver) : cgroupRoot;
}
