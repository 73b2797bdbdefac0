import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readMountInfo } from '../host/mount-info.ts';

/** Controllers that limit pods. They have the same names in v1 and v2. */
export type CgroupController = 'cpu' | 'memory' | 'pids' | 'hugetlb';

/** The cgroup mounts of this machine. */
export interface CgroupMounts {
  /** Also 1 on hybrid machines, because their controllers are version 1. */
  version: 1 | 2;
  /** Top folder of each controller's hierarchy. Lacks controllers that the kernel does not have. */
  controllers: ReadonlyMap<CgroupController, string>;
  /** Top folders of all hierarchies, because runtimes create cgroups in each. cgroup v2 has one. */
  hierarchies: readonly string[];
}

const known: readonly CgroupController[] = ['cpu', 'memory', 'pids', 'hugetlb'];

/**
 * Finds the hierarchies among the mounts, by default those of this process. kubelet: opencontainers/cgroups v1_utils.go
 * GetCgroupMounts
 */
export async function readCgroupMounts(mountInfo?: string): Promise<CgroupMounts> {
  const mounts = parseCgroupMounts(mountInfo ?? (await readMountInfo()));
  const [unified] = mounts.hierarchies;
  if (mounts.version === 1 || unified === undefined) return mounts;
  const offered = (await readFile(join(unified, 'cgroup.controllers'), 'utf8')).trim().split(' ');
  const controllers = known.filter((controller) => offered.includes(controller));
  return { ...mounts, controllers: new Map(controllers.map((controller) => [controller, unified])) };
}

/**
 * Parses mountinfo. For cgroup v2 the result has no controllers, because only the file `cgroup.controllers` lists them.
 */
export function parseCgroupMounts(mountInfo: string): CgroupMounts {
  const mounts = parseCgroupMountPoints(mountInfo);
  const controllers = new Map<CgroupController, string>();
  for (const { path, options } of mounts) {
    // If a hierarchy is mounted twice, the first mount is used.
    for (const name of known) if (options.includes(name) && !controllers.has(name)) controllers.set(name, path);
  }
  const hierarchies = mounts.map(({ path }) => path);
  if (mounts.some(({ type }) => type === 'cgroup')) return { version: 1, controllers, hierarchies };
  return { version: 2, controllers: new Map(), hierarchies: hierarchies.slice(0, 1) };
}

/** A mounted hierarchy of cgroups. */
export interface CgroupMountPoint {
  path: string;
  type: string;
  /** In version 1 they include the names of the controllers. */
  options: string[];
}

/** Every mounted hierarchy in mountinfo, including those without controllers. */
export function parseCgroupMountPoints(mountInfo: string): CgroupMountPoint[] {
  return mountInfo.split('\n').flatMap(cgroupMount);
}

function cgroupMount(line: string): CgroupMountPoint[] {
  if (!line.includes(' - cgroup')) return [];
  const [mount = '', system = ''] = line.split(' - ');
  const [type = '', , options = ''] = system.split(' ');
  const path = mount.split(' ')[4];
  if (path === undefined || !/^cgroup2?$/.test(type)) return [];
  return [{ path: copyOf(path), type: copyOf(type), options: type === 'cgroup' ? copyOf(options).split(',') : [] }];
}

/**
 * Copies a substring, because V8 would otherwise keep all of mountinfo in memory. With many containers it has hundreds
 * of kilobytes.
 */
const copyOf = (part: string): string => Buffer.from(part).toString();
