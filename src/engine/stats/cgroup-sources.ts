import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseCgroupMountPoints } from '../container-manager/cgroup-mounts.ts';
import { readMountInfo } from '../host/mount-info.ts';

/** The hierarchy that counts a resource. */
export interface CgroupSource {
  version: 1 | 2;
  /** Top folder: the cgroup of the whole machine. */
  top: string;
}

/** Where this machine counts each resource. A resource that it does not count is missing. */
export interface CgroupSources {
  cpu?: CgroupSource;
  memory?: CgroupSource;
  pids?: CgroupSource;
  /** Limits on CPU time, and how often they took effect. */
  quota?: CgroupSource;
  /** Reads and writes of block devices. */
  io?: CgroupSource;
  /** Top folder of the hierarchy that measures pressure. Set only if that also counts CPU time and memory. */
  pressure?: string;
}

/** Controllers that count a resource, as version 1 and 2 name them. */
const controllers = {
  cpu: ['cpuacct', 'cpu'],
  memory: ['memory', 'memory'],
  pids: ['pids', 'pids'],
  quota: ['cpu', 'cpu'],
  io: ['blkio', 'io'],
} as const;

/**
 * Finds the hierarchies. On a hybrid machine each resource is counted where its controller is: in a separate hierarchy,
 * or in the unified one.
 */
export async function readCgroupSources(mountInfo?: string): Promise<CgroupSources> {
  const mounts = parseCgroupMountPoints(mountInfo ?? (await readMountInfo()));
  const unified = mounts.find(({ type }) => type === 'cgroup2')?.path;
  const offered = unified === undefined ? [] : await controllersOf(unified);
  const sourceOf = ([v1, v2]: readonly [string, string]): CgroupSource | undefined => {
    const own = mounts.find(({ options }) => options.includes(v1));
    if (own !== undefined) return { version: 1, top: own.path };
    return unified !== undefined && offered.includes(v2) ? { version: 2, top: unified } : undefined;
  };
  const found = Object.entries(controllers).flatMap(([resource, names]) => {
    const source = sourceOf(names);
    return source === undefined ? [] : [[resource, source] as const];
  });
  const sources: CgroupSources = Object.fromEntries(found);
  const isUnified = sources.cpu?.version === 2 && sources.memory?.version === 2;
  return { ...sources, ...(isUnified && unified !== undefined && { pressure: unified }) };
}

async function controllersOf(top: string): Promise<string[]> {
  const text = await readFile(join(top, 'cgroup.controllers'), 'utf8').catch(() => '');
  return text.split(/\s+/).filter((name) => name !== '');
}
