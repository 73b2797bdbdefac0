import type { CgroupManager } from './cgroup-manager.ts';
import { type CgroupDriver, podUIDOfCgroup, qosCgroups } from './cgroup-names.ts';

/** The cgroup of a pod that belongs to this agent or another one. */
export interface PodCgroup {
  uid: string;
  /** Path in the driver's form. */
  path: string;
}

/** The pod cgroups below a cgroup root. kubelet: cm/pod_container_manager_linux.go GetAllPodsFromCgroups */
export async function listPodCgroups(
  cgroups: Pick<CgroupManager, 'children'>,
  { cgroupRoot, cgroupDriver }: { cgroupRoot: string; cgroupDriver: CgroupDriver },
): Promise<PodCgroup[]> {
  const { root, Burstable, BestEffort } = qosCgroups(cgroupRoot);
  const tiers = await Promise.all([root, Burstable, BestEffort].map((name) => cgroups.children(name)));
  return tiers.flat().flatMap((path) => {
    const uid = podUIDOfCgroup(path, cgroupRoot, cgroupDriver);
    return uid === undefined ? [] : { uid, path };
  });
}
