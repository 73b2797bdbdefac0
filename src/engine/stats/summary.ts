import type { FsUsage } from '../host/fs-usage.ts';

/**
 * Usage of a node, its pods and their containers, in the JSON form of the kubelet's /stats/summary. Sizes are in bytes,
 * times in RFC 3339. Unknown values are absent. kubelet: pkg/apis/stats/v1alpha1/types.go Summary
 */
export interface Summary {
  node: NodeStats;
  /** Pods with a ready sandbox or a running container, sorted by namespace and name. */
  pods: PodStats[];
}

export interface NodeStats {
  nodeName: string;
  /** Usage of groups of processes: `pods`, `kubelet` and `runtime`. */
  systemContainers?: ContainerStats[];
  /** When the machine started. */
  startTime: string;
  cpu?: CPUStats;
  memory?: MemoryStats;
  network?: NetworkStats;
  /** File system of the root-dir. */
  fs?: FsStats;
  /** File systems of the container runtime: for images and for writable layers. */
  runtime?: { imageFs?: FsStats; containerFs?: FsStats };
  rlimit?: RlimitStats;
  swap?: SwapStats;
  /** Pressure on the disks. Only on cgroup v2. */
  io?: { time: string; psi: PSIStats };
}

export interface PodStats {
  podRef: { name: string; namespace: string; uid: string };
  startTime: string;
  /** Running containers, sorted by name. */
  containers: ContainerStats[];
  cpu?: CPUStats;
  memory?: MemoryStats;
  /** Absent for pods in the node's network. */
  network?: NetworkStats;
  /** Absent until the volumes were measured in the background for the first time. */
  volume?: VolumeStats[];
  /** Writable layers, logs, and volumes on the disk of the root-dir. */
  'ephemeral-storage'?: FsStats;
  process_stats?: { process_count?: number };
  swap?: SwapStats;
  io?: { time: string; psi: PSIStats };
}

export interface ContainerStats {
  name: string;
  startTime: string;
  cpu?: CPUStats;
  memory?: MemoryStats;
  /** The writable layer, without the image. */
  rootfs?: FsStats;
  /** The logs of all instances of the container. */
  logs?: FsStats;
  swap?: SwapStats;
  io?: { time: string; psi: PSIStats };
}

export interface CPUStats {
  /** When this was measured, like every `time`. */
  time: string;
  /** Billionths of a core, on average since the previous sample. Absent in the first sample. */
  usageNanoCores?: number;
  /** Nanoseconds on all cores since the start. */
  usageCoreNanoSeconds?: number;
  /** Only on cgroup v2, like every `psi`. */
  psi?: PSIStats;
}

export interface MemoryStats {
  time: string;
  /** The limit minus the working set. Absent if there is no limit. */
  availableBytes?: number;
  /** Includes the file cache. */
  usageBytes?: number;
  /** Usage without the inactive file cache. The kernel cannot free it cheaply. */
  workingSetBytes?: number;
  /** Anonymous memory. */
  rssBytes?: number;
  pageFaults?: number;
  majorPageFaults?: number;
  psi?: PSIStats;
}

export interface SwapStats {
  time: string;
  swapAvailableBytes?: number;
  swapUsageBytes?: number;
}

/** Counters of one network interface since it was created. */
export interface InterfaceStats {
  name: string;
  rxBytes?: number;
  rxErrors?: number;
  txBytes?: number;
  txErrors?: number;
}

/** All interfaces, plus the counters of the default one, `eth0`. If that does not exist, the name is empty. */
export interface NetworkStats extends InterfaceStats {
  time: string;
  interfaces?: InterfaceStats[];
}

/** Usage of something on a file system. Capacity and free space are those of the whole file system. */
export interface FsStats extends FsUsage {
  time: string;
}

export interface VolumeStats extends FsStats {
  /** Name of the volume in the pod. */
  name: string;
  /** Its claim. */
  pvcRef?: { name: string; namespace: string };
}

export interface RlimitStats {
  time: string;
  /** How many processes and threads the kernel allows. */
  maxpid?: number;
  /** Current number of processes and threads. */
  curproc?: number;
}

/** How much of the time some or all tasks waited for a resource. kubelet: PSIStats, since 1.33 */
export interface PSIStats {
  some: PSIData;
  full: PSIData;
}

export interface PSIData {
  /** Microseconds since the start. */
  total: number;
  /** Percent of the last 10 seconds. */
  avg10: number;
  avg60: number;
  avg300: number;
}
