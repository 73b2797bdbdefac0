import type { CgroupManager } from './cgroup-manager.ts';
import { qosCgroups } from './cgroup-names.ts';

/** Removes the cgroups over pods in which there is nothing any more. The cgroup root stays: whoever named it may have made it. */
export async function removeEmptyQOSCgroups(cgroups: CgroupManager, cgroupRoot: string): Promise<void> {
  const { root, Burstable, BestEffort } = qosCgroups(cgroupRoot);
  for (const name of [Burstable, BestEffort, root]) await cgroups.removeIfEmpty(name);
}
