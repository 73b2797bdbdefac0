/** Usage of a node and its pods, as far as eviction needs it. kubelet: pkg/apis/stats/v1alpha1 Summary */
export interface NodeSummary {
  node: {
    memory?: MemoryStats;
    /** File system of the root-dir. */
    fs?: FsStats;
    runtime?: { imageFs?: FsStats; containerFs?: FsStats };
    rlimit?: { time: string; maxpid?: number; curproc?: number };
    /** The entry `pods` is the usage of all pods. */
    systemContainers?: { name: string; memory?: MemoryStats }[];
  };
  pods: PodUsage[];
}

export interface PodUsage {
  podRef: { uid: string };
  containers: { name: string; rootfs?: FsStats; logs?: FsStats }[];
  memory?: MemoryStats;
  volume?: (FsStats & { name: string })[];
  'ephemeral-storage'?: FsStats;
  process_stats?: { process_count?: number };
}

interface MemoryStats {
  /** RFC 3339, as every `time`. */
  time: string;
  availableBytes?: number;
  workingSetBytes?: number;
}

export interface FsStats {
  time: string;
  availableBytes?: number;
  capacityBytes?: number;
  usedBytes?: number;
  inodesFree?: number;
  inodes?: number;
  inodesUsed?: number;
}
