import type { FsUsage } from '../host/fs-usage.ts';

/**
 * Usage of a node, its pods and their containers, in the JSON form of the kubelet's /stats/summary. Bytes are bytes,
 * times RFC 3339 texts. A figure that is not known is absent. kubelet: pkg/apis/stats/v1alpha1/types.go Summary
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
  /** File systems of the container runtime: of its images, and of writable layers. */
  runtime?: { imageFs?: FsStats; containerFs?: FsStats };
  rlimit?: RlimitStats;
  swap?: SwapStats;
  /** Pressure on the disks. From cgroup v2 alone. */
  io?: { time: string; psi: PSIStats };
}

export interface PodStats {
  podRef: { name: string; namespace: string; uid: string };
  startTime: string;
  /** Running containers, sorted by name. */
  containers: ContainerStats[];
  cpu?: CPUStats;
  memory?: MemoryStats;
  /** Absent for pods in the network of the node. */
  network?: NetworkStats;
  /** Appears after the volumes were measured for the first time, in the background. */
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
  /** The logs of all runs of the container. */
  logs?: FsStats;
  swap?: SwapStats;
  io?: { time: string; psi: PSIStats };
}

export interface CPUStats {
  /** When this was measured, as every `time`. */
  time: string;
  /** Billionths of a core, on average since the sample before. Absent in a first sample. */
  usageNanoCores?: number;
  /** Nanoseconds of all cores since the start. */
  usageCoreNanoSeconds?: number;
  /** From cgroup v2 alone, as every `psi`. */
  psi?: PSIStats;
}

export interface MemoryStats {
  time: string;
  /** The limit less the working set. Absent without a limit. */
  availableBytes?: number;
  /** With the cache of files. */
  usageBytes?: number;
  /** Usage without inactive cache of files. The kernel cannot free it cheaply. */
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

/** Counters of one network interface since it exists. */
export interface InterfaceStats {
  name: string;
  rxBytes?: number;
  rxErrors?: number;
  txBytes?: number;
  txErrors?: number;
}

/** All interfaces. Also has the counters of the default one, `eth0`; without it the name is empty. */
export interface NetworkStats extends InterfaceStats {
  time: string;
  interfaces?: InterfaceStats[];
}

/** Usage of something on a file system: capacity and free space are those of the whole file system. */
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
  /** Most processes and threads that the kernel allows. */
  maxpid?: number;
  /** Processes and threads now. */
  curproc?: number;
}

/** Shares of time in which some or all tasks waited for a resource. kubelet: PSIStats, since 1.33 */
export interface PSIStats {
  some: PSIData;
  full: PSIData;
}

export interface PSIData {
  /** Microseconds since the start. */
  total: number;
  /** Per cent of the last 10 seconds. */
  avg10: number;
  avg60: number;
  avg300: number;
}
