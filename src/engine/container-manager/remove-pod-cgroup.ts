import type { CgroupManager } from './cgroup-manager.ts';
import { canNameCgroup, podCgroupName, qosCgroups } from './cgroup-names.ts';

const qosClasses = ['Guaranteed', 'Burstable', 'BestEffort'] as const;

/**
 * Removes the cgroup of a pod and kills its processes. Does nothing if it is missing. kubelet:
 * cm/pod_container_manager_linux.go Destroy
 */
export async function removePodCgroup(cgroups: CgroupManager, cgroupRoot: string, podUID: string): Promise<void> {
  if (!canNameCgroup(podUID)) return;
  // Without a manifest the QoS class is unknown.
  for (const qosClass of qosClasses) await cgroups.destroy(podCgroupName(cgroupRoot, qosClass, podUID));
}

/** Removes the empty parent cgroups of pods. Keeps the cgroup root, because the user may have created it. */
export async function removeEmptyQOSCgroups(cgroups: CgroupManager, cgroupRoot: string): Promise<void> {
  const { root, Burstable, BestEffort } = qosCgroups(cgroupRoot);
  for (const name of [Burstable, BestEffort, root]) await cgroups.removeIfEmpty(name);
}
