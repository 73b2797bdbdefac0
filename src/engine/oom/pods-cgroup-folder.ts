import { join } from 'node:path';
import { cgroupPath, qosCgroups } from '../container-manager/cgroup-names.ts';
import type { CgroupSettings } from '../container-manager/cgroup-settings.ts';

/** Folder of the cgroup over all pods on cgroup v2. Returns undefined if there is none. */
export function podsCgroupFolder(
  unifiedCgroups: string | undefined,
  { cgroupsPerQOS, cgroupRoot, cgroupDriver }: Pick<CgroupSettings, 'cgroupsPerQOS' | 'cgroupRoot' | 'cgroupDriver'>,
): string | undefined {
  if (unifiedCgroups === undefined || !cgroupsPerQOS) return undefined;
  return join(unifiedCgroups, cgroupPath(qosCgroups(cgroupRoot).root, cgroupDriver));
}
