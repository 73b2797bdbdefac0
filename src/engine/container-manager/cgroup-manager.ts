import type { CgroupName } from './cgroup-names.ts';
import type { CgroupController } from './cgroup-mounts.ts';
import type { CgroupLimits } from './pod-cgroup-limits.ts';

/** A limit that this machine does not let us set. */
export interface CgroupRefusal {
  controller: CgroupController;
  /** The file or folder that could not be written. */
  path: string;
  error: Error;
}

/** Makes, limits and removes cgroups, each by its name in every hierarchy. kubelet: cm/types.go CgroupManager */
export interface CgroupManager {
  /** True: it is there for every controller that this machine has. */
  exists(name: CgroupName): Promise<boolean>;
  /**
   * Makes the cgroup with its parents if it is not there, and sets its limits. What the machine refuses for good is in the
   * result and the rest is done; rejects for what may go better the next time.
   */
  apply(name: CgroupName, limits: CgroupLimits): Promise<CgroupRefusal[]>;
  /** Paths of the cgroups right below this one, in the driver's form. */
  children(name: CgroupName): Promise<string[]>;
  /** True: a process is in this cgroup or below it. The path is in the driver's form. */
  isPopulated(path: string): Promise<boolean>;
  /** Kills every process in it and removes it with all below it. Absent is fine. Rejects when processes do not go. */
  destroy(name: CgroupName): Promise<void>;
  /** Removes the cgroup unless a process or a cgroup is in it. Absent is fine. */
  removeIfEmpty(name: CgroupName): Promise<void>;
}
