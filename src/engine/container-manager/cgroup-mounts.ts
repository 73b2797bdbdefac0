import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What pods are limited by; v1 and v2 have the same names for it. */
export type CgroupController = 'cpu' | 'memory' | 'pids' | 'hugetlb';

/** Where the cgroups of this machine are. */
export interface CgroupMounts {
  /** 1 also for hybrid machines: their controllers are version 1. */
  version: 1 | 2;
  /** Top folder of the hierarchy of each controller; one that is missing here, the kernel does not have or not offer. */
  controllers: ReadonlyMap<CgroupController, string>;
  /** Top folder of every hierarchy: runtimes make cgroups in all of them. On cgroup v2 it is one. */
  hierarchies: readonly string[];
}

const known: readonly CgroupController[] = ['cpu', 'memory', 'pids', 'hugetlb'];

/** Finds the hierarchies among this process's mounts. kubelet: opencontainers/cgroups v1_utils.go GetCgroupMounts */
export async function readCgroupMounts(mountInfoFile = '/proc/self/mountinfo'): Promise<CgroupMounts> {
  const mounts = parseCgroupMounts(await readFile(mountInfoFile, 'utf8'));
  const [unified] = mounts.hierarchies;
  if (mounts.version === 1 || unified === undefined) return mounts;
  const offered = (await readFile(join(unified, 'cgroup.controllers'), 'utf8')).trim().split(' ');
  const controllers = known.filter((controller) => offered.includes(controller));
  return { ...mounts, controllers: new Map(controllers.map((controller) => [controller, unified])) };
}

/** Of cgroup v2 a mount does not tell the controllers; its file `cgroup.controllers` does. */
export function parseCgroupMounts(mountInfo: string): CgroupMounts {
  const mounts = mountInfo.split('\n').flatMap(cgroupMount);
  const controllers = new Map<CgroupController, string>();
  for (const { path, options } of mounts) {
    // Of a hierarchy that is mounted twice the first place counts.
    for (const name of known) if (options.includes(name) && !controllers.has(name)) controllers.set(name, path);
  }
  const hierarchies = mounts.map(({ path }) => path);
  if (mounts.some(({ type }) => type === 'cgroup')) return { version: 1, controllers, hierarchies };
  return { version: 2, controllers: new Map(), hierarchies: hierarchies.slice(0, 1) };
}

interface Mount {
  path: string;
  type: string;
  /** Of version 1, the names of the controllers are among them. */
  options: string[];
}

function cgroupMount(line: string): Mount[] {
  const [place = '', system = ''] = line.split(' - ');
  const [type = '', , options = ''] = system.split(' ');
  const path = place.split(' ')[4];
  if (path === undefined || !/^cgroup2?$/.test(type)) return [];
  return [{ path, type, options: type === 'cgroup' ? options.split(',') : [] }];
}
