import { readFile } from 'node:fs/promises';

/** `hybrid` is v1 with a v2 mount beside it that has no controllers. */
export type CgroupMode = 'v1' | 'hybrid' | 'v2';

/** The cgroup mode of a machine whose /proc/self/mounts this is. */
export function computeCgroupMode(mounts: string): CgroupMode {
  const cgroups = mounts
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, target]) => target === '/sys/fs/cgroup' || target?.startsWith('/sys/fs/cgroup/'));
  const unified = cgroups.filter(([, , type]) => type === 'cgroup2');
  if (unified.some(([, target]) => target === '/sys/fs/cgroup')) return 'v2';
  return unified.length > 0 ? 'hybrid' : 'v1';
}

/** The cgroup mode of this machine. */
export async function readCgroupMode(): Promise<CgroupMode> {
  return computeCgroupMode(await readFile('/proc/self/mounts', 'utf8'));
}
