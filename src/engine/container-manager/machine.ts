import { readdir, readFile, statfs } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { hasCode } from '../../errors.ts';
import { pathExists } from '../path-exists.ts';

/** What the machine has, as far as containers depend on it. */
export interface Machine {
  /** 1 also for hybrid hosts: their controllers are version 1. */
  cgroupVersion: 1 | 2;
  cpus: number;
  memoryBytes: bigint;
  /** Capacity of the file system that holds the root-dir. */
  ephemeralStorageBytes: bigint;
  hugePageSizes: bigint[];
  hasSwapController: boolean;
  selinuxEnabled: boolean;
  thermalThrottlePaths: string[];
}

/** `CGROUP2_SUPER_MAGIC` of the kernel's magic.h. */
const cgroup2Magic = 0x63677270;

export async function readMachine(rootDir: string): Promise<Machine> {
  const cgroupVersion = (await statfs('/sys/fs/cgroup')).type === cgroup2Magic ? 2 : 1;
  const { blocks, bsize } = await statfs(rootDir, { bigint: true });
  return {
    cgroupVersion,
    cpus: availableParallelism(),
    memoryBytes: BigInt(totalmem()),
    ephemeralStorageBytes: blocks * bsize,
    hugePageSizes: await hugePageSizes(),
    hasSwapController: await hasSwapController(cgroupVersion),
    // The file system is there only while the kernel has a policy.
    selinuxEnabled: await pathExists('/sys/fs/selinux/enforce'),
    thermalThrottlePaths: await thermalThrottlePaths(),
  };
}

async function hugePageSizes(): Promise<bigint[]> {
  const names = await namesIn('/sys/kernel/mm/hugepages');
  return names.flatMap((name) => {
    const [, kibibytes] = /^hugepages-(\d+)kB$/.exec(name) ?? [];
    return kibibytes === undefined ? [] : [BigInt(kibibytes) * 1024n];
  });
}

/** kubelet: kuberuntime_container_linux.go isSwapControllerAvailable */
async function hasSwapController(cgroupVersion: 1 | 2): Promise<boolean> {
  if (cgroupVersion === 1) return pathExists('/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes');
  const own = /^0::(.*)$/m.exec(await readFile('/proc/self/cgroup', 'utf8'))?.[1] ?? '/';
  return pathExists(join('/sys/fs/cgroup', own, 'memory.swap.max'));
}

async function thermalThrottlePaths(): Promise<string[]> {
  const base = '/sys/devices/system/cpu';
  const paths = (await namesIn(base))
    .filter((name) => /^cpu\d+$/.test(name))
    .map((name) => join(base, name, 'thermal_throttle'));
  const found = await Promise.all(paths.map(pathExists));
  return paths.filter((_path, index) => found[index]);
}

async function namesIn(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}
