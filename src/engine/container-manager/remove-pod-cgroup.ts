import type { CgroupManager } from './cgroup-manager.ts';
import { canNameCgroup, podCgroupName, qosCgroups } from './cgroup-names.ts';

const qosClasses = ['Guaranteed', 'Burstable', 'BestEffort'] as const;

/**
 * Removes the cgroup of a pod of ours, and whatever still runs in it. Absent is fine.
 * kubelet: cm/pod_container_manager_linux.go Destroy
 */
export async function removePodCgroup(cgroups: CgroupManager, cgroupRoot: string, podUID: string): Promise<void> {
  if (!canNameCgroup(podUID)) return;
  // The manifest may be gone, so its QoS class is not known.
  for (const qosClass of qosClasses) await cgroups.destroy(podCgroupName(cgroupRoot, qosClass, podUID));
}

/** Removes the cgroups over pods in which there is nothing any more. The cgroup root stays: whoever named it may have made it. */
export async function removeEmptyQOSCgroups(cgroups: CgroupManager, cgroupRoot: string): Promise<void> {
  const { root, Burstable, BestEffort } = qosCgroups(cgroupRoot);
  for (const name of [Burstable, BestEffort, root]) await cgroups.removeIfEmpty(name);
}
