import { readFile, statfs } from 'node:fs/promises';
import { cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { ifPresent } from '../../files/if-present.ts';
import { listFolder } from '../../files/list-folder.ts';
import { pathExists } from '../../files/path-exists.ts';
import { hasTmpfsNoswap } from '../host/mounts.ts';
import { parseCPUList } from './reserved-cpus.ts';

/** Properties of the machine that containers depend on. */
export interface Machine {
  /** Also 1 on hybrid machines, because their controllers are version 1. */
  cgroupVersion: 1 | 2;
  /** Number of online processors. */
  cpus: number;
  /** Numbers of the online processors. */
  onlineCPUs: ReadonlySet<number>;
  memoryBytes: bigint;
  /** Capacity of the file system that holds the root-dir. */
  ephemeralStorageBytes: bigint;
  /** Every huge page size of the kernel, with the pages reserved now. */
  hugePages: { sizeBytes: bigint; pages: bigint }[];
  /** Maximum number of processes and threads. */
  maxPIDs: bigint;
  hasSwapController: boolean;
  swaps: Swap[];
  /** True if the kernel supports the tmpfs option noswap. */
  hasTmpfsNoswap: boolean;
  selinuxEnabled: boolean;
  appArmorEnabled: boolean;
  /** For example `6.1.0-31-amd64`. */
  kernelRelease: string;
  thermalThrottlePaths: string[];
}

/** A file or device of swap in use. */
export interface Swap {
  name: string;
  sizeBytes: bigint;
}

/** `CGROUP2_SUPER_MAGIC` of the kernel's magic.h. */
const cgroup2Magic = 0x63677270;

export async function readMachine(rootDir: string): Promise<Machine> {
  const [cgroups, disk] = await Promise.all([controllersOfMachine(), statfs(rootDir, { bigint: true })]);
  const [cpuNumbers, pages, pids, swaps, selinuxEnabled, appArmor, throttlePaths] = await Promise.all([
    onlineCPUs(),
    hugePages(),
    maxPIDs(),
    readSwaps(),
    // The kernel mounts this file system only while a policy is loaded.
    pathExists('/sys/fs/selinux/enforce'),
    appArmorEnabled(),
    thermalThrottlePaths(),
  ]);
  return {
    ...cgroups,
    cpus: cpus().length,
    onlineCPUs: cpuNumbers,
    memoryBytes: BigInt(totalmem()),
    ephemeralStorageBytes: disk.blocks * disk.bsize,
    hugePages: pages,
    maxPIDs: pids,
    swaps,
    hasTmpfsNoswap: hasTmpfsNoswap(release()),
    selinuxEnabled,
    appArmorEnabled: appArmor,
    kernelRelease: release(),
    thermalThrottlePaths: throttlePaths,
  };
}

async function controllersOfMachine(): Promise<Pick<Machine, 'cgroupVersion' | 'hasSwapController'>> {
  const cgroupVersion = (await statfs('/sys/fs/cgroup')).type === cgroup2Magic ? 2 : 1;
  return { cgroupVersion, hasSwapController: await hasSwapController(cgroupVersion) };
}

/** If the file is missing, all CPUs count as online. */
async function onlineCPUs(): Promise<Set<number>> {
  const path = '/sys/devices/system/cpu/online';
  return parseCPUList((await pathExists(path)) ? await readFile(path, 'utf8') : `0-${cpus().length - 1}`);
}

async function hugePages(): Promise<Machine['hugePages']> {
  const base = '/sys/kernel/mm/hugepages';
  const sizes = (await listFolder(base)).flatMap((name) => {
    const [, kibibytes] = /^hugepages-(\d+)kB$/.exec(name) ?? [];
    return kibibytes === undefined ? [] : [{ name, sizeBytes: BigInt(kibibytes) * 1024n }];
  });
  return Promise.all(
    sizes.map(async ({ name, sizeBytes }) => ({
      sizeBytes,
      pages: await readNumber(join(base, name, 'nr_hugepages')),
    })),
  );
}

/** kubelet: stats/pidlimit/pidlimit_linux.go Stats */
async function maxPIDs(): Promise<bigint> {
  const [pids, threads] = await Promise.all([
    readNumber('/proc/sys/kernel/pid_max'),
    readNumber('/proc/sys/kernel/threads-max'),
  ]);
  return pids < threads ? pids : threads;
}

/** kubelet: util/swap/swap_util.go IsSwapOn */
async function readSwaps(): Promise<Swap[]> {
  // A kernel without swap does not have this file.
  return parseSwaps((await ifPresent(readFile('/proc/swaps', 'utf8'))) ?? '');
}

/** The lines of /proc/swaps below its heading. */
export function parseSwaps(text: string): Swap[] {
  const [, ...lines] = text.trim().split('\n');
  return lines.map((line) => {
    const [name = '', , kibibytes = '0'] = line.split(/\s+/);
    return { name, sizeBytes: BigInt(kibibytes) * 1024n };
  });
}

async function readNumber(path: string): Promise<bigint> {
  return BigInt((await readFile(path, 'utf8')).trim());
}

/** kubelet: kuberuntime_container_linux.go isSwapControllerAvailable */
async function hasSwapController(cgroupVersion: 1 | 2): Promise<boolean> {
  if (cgroupVersion === 1) return pathExists('/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes');
  const own = /^0::(.*)$/m.exec(await readFile('/proc/self/cgroup', 'utf8'))?.[1] ?? '/';
  return pathExists(join('/sys/fs/cgroup', own, 'memory.swap.max'));
}

/** kubelet: opencontainers/runc libcontainer/apparmor IsEnabled */
async function appArmorEnabled(): Promise<boolean> {
  if (!(await pathExists('/sys/kernel/security/apparmor'))) return false;
  return (await readFile('/sys/module/apparmor/parameters/enabled', 'utf8')).startsWith('Y');
}

async function thermalThrottlePaths(): Promise<string[]> {
  const base = '/sys/devices/system/cpu';
  const paths = (await listFolder(base))
    .filter((name) => /^cpu\d+$/.test(name))
    .map((name) => join(base, name, 'thermal_throttle'));
  const found = await Promise.all(paths.map(pathExists));
  return paths.filter((_path, index) => found[index]);
}
