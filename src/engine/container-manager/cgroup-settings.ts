import type { CgroupDriver } from './cgroup-names.ts';
import type { NodeAllocatableSettings } from './node-allocatable.ts';

/** The part of the node's configuration that its cgroups depend on. */
export interface CgroupSettings {
  cgroupDriver: CgroupDriver;
  cgroupRoot: string;
  cgroupsPerQOS: boolean;
  nodeAllocatable: NodeAllocatableSettings;
  /** Processes a pod may have; no limit if it is not positive. */
  podPidsLimit: number;
  containerNode: {
    resources: { cpuCFSQuota: boolean; cpuCFSQuotaPeriodMicros: number; hugePageSizes: readonly bigint[] };
  };
}
