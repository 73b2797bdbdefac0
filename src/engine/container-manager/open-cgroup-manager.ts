import type { Clock } from '../../clock.ts';
import { cgroupFiles } from './cgroup-files.ts';
import type { CgroupManager } from './cgroup-manager.ts';
import { readCgroupMounts } from './cgroup-mounts.ts';
import type { CgroupDriver } from './cgroup-names.ts';
import { CgroupfsManager } from './cgroupfs-manager.ts';

/** The cgroups of this machine. */
export async function openCgroupManager(driver: CgroupDriver, clock: Clock): Promise<CgroupManager> {
  return new CgroupfsManager({ mounts: await readCgroupMounts(), files: cgroupFiles, clock, driver });
}
