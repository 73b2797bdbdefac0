import type { CgroupName } from './cgroup-names.ts';
import type { CgroupController } from './cgroup-mounts.ts';
import type { CgroupLimits } from './pod-cgroup-limits.ts';

/** A limit that this machine refuses to set. */
export interface CgroupRefusal {
  controller: CgroupController;
  /** The file or folder that could not be written. */
  path: string;
  error: Error;
}

/** Creates, limits and removes cgroups by name, in all hierarchies. kubelet: cm/types.go CgroupManager */
export interface CgroupManager {
  /** True if it exists for every controller of this machine. */
  exists(name: CgroupName): Promise<boolean>;
  /**
   * Creates the cgroup and its parents if they are missing, and sets its limits. Resolves with the limits that the
   * machine refuses permanently. Rejects with errors that may be temporary.
   */
  apply(name: CgroupName, limits: CgroupLimits): Promise<CgroupRefusal[]>;
  /**
   * Memory that the processes of the cgroup use, in bytes, without unused page cache. Resolves with 0 if it is unknown.
   */
  memoryUsageBytes(name: CgroupName): Promise<bigint>;
  /** True if memory.min, memory.low or memory.high is set. The path has the driver's form. */
  hasMemoryQoS(path: string): Promise<boolean>;
  /** Paths of the direct child cgroups, in the driver's form. */
  children(name: CgroupName): Promise<string[]>;
  /** True if a process is in this cgroup or below it. The path has the driver's form. */
  isPopulated(path: string): Promise<boolean>;
  /**
   * Kills all its processes, then removes it with all child cgroups. Does nothing if it is missing. Rejects if
   * processes survive.
   */
  destroy(name: CgroupName): Promise<void>;
  /** Removes the cgroup if it has no process and no child. Does nothing if it is missing. */
  removeIfEmpty(name: CgroupName): Promise<void>;
}
