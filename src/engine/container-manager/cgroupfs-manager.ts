import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { hasCode, toError } from '../../errors.ts';
import { ifPresent } from '../../files/if-present.ts';
import type { CgroupFiles } from './cgroup-files.ts';
import type { CgroupManager, CgroupRefusal } from './cgroup-manager.ts';
import type { CgroupController, CgroupMounts } from './cgroup-mounts.ts';
import { type CgroupDriver, type CgroupName, cgroupPath } from './cgroup-names.ts';
import { cgroupWrites } from './cgroup-writes.ts';
import type { CgroupLimits } from './pod-cgroup-limits.ts';

/** Repeat, because processes may start while others are moved. */
const maxEvacuationRounds = 10;

interface Deps {
  mounts: CgroupMounts;
  files: CgroupFiles;
  clock: Clock;
  /** Driver whose naming scheme the folders follow. */
  driver: CgroupDriver;
}

/** Delays between attempts to remove a cgroup, in milliseconds, because a killed process takes a moment to leave it. */
const removalDelaysMs = [10, 20, 40, 80, 160];

/** Errors of a permanent refusal. All others may be temporary. */
const refusalCodes = [
  'EPERM',
  'EACCES',
  'EROFS',
  'ENOENT',
  'EBUSY',
  'EINVAL',
  'ENODEV',
  'ENXIO',
  'EOPNOTSUPP',
  'ENOTSUP',
];

const notOffered = 'the kernel does not offer this controller';

/**
 * Manages cgroups as folders. On cgroup v1 each controller has its own hierarchy. kubelet: cm/cgroup_manager_linux.go
 */
export class CgroupfsManager implements CgroupManager {
  constructor(private readonly deps: Deps) {}

  /** Checks synchronously, because cgroups are in memory and every sync calls this. */
  exists(name: CgroupName): Promise<boolean> {
    const path = this.path(name);
    return Promise.resolve(this.limitingHierarchies.every((top) => existsSync(join(top, path))));
  }

  async apply(name: CgroupName, limits: CgroupLimits): Promise<CgroupRefusal[]> {
    const { mounts, files } = this.deps;
    const found = await (mounts.version === 1 ? this.createInEveryHierarchy(name) : this.createUnified(name));
    for (const { controller, file, value, optional } of cgroupWrites(limits, mounts.version)) {
      // One refusal per controller is enough.
      if (found.some((refusal) => refusal.controller === controller)) continue;
      const top = mounts.controllers.get(controller);
      if (top === undefined) {
        // Without this controller, a missing limit on huge pages does no harm.
        if (controller !== 'hugetlb') found.push({ controller, path: file, error: new Error(notOffered) });
        continue;
      }
      const path = join(top, this.path(name), file);
      const error = await refusalOf(() => files.write(path, value));
      if (error !== undefined && !(optional && hasCode(error, 'ENOENT'))) found.push({ controller, path, error });
    }
    return found;
  }

  /** kubelet: cm/cgroup_manager_linux.go MemoryUsage, which counts the page cache too */
  async memoryUsageBytes(name: CgroupName): Promise<bigint> {
    const { controllers, version } = this.deps.mounts;
    const folder = join(controllers.get('memory') ?? '', this.path(name));
    const [file, cache] =
      version === 1 ? ['memory.usage_in_bytes', 'total_inactive_file'] : ['memory.current', 'inactive_file'];
    try {
      const usage = BigInt((await readFile(join(folder, file), 'utf8')).trim());
      const stat = await readFile(join(folder, 'memory.stat'), 'utf8');
      const reclaimable = BigInt(new RegExp(`^${cache} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0);
      return usage > reclaimable ? usage - reclaimable : 0n;
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ENODEV')) return 0n;
      throw error;
    }
  }

  async hasMemoryQoS(path: string): Promise<boolean> {
    const { controllers, version } = this.deps.mounts;
    const top = controllers.get('memory');
    if (version === 1 || top === undefined) return false;
    const read = (file: string): Promise<string | undefined> =>
      ifPresent(readFile(join(top, path, file), 'utf8'), 'ENOENT', 'ENODEV');
    const [min = '0', low = '0', high = 'max'] = await Promise.all(memoryQoSFiles.map(read));
    return min.trim() !== '0' || low.trim() !== '0' || high.trim() !== 'max';
  }

  async children(name: CgroupName): Promise<string[]> {
    const path = this.path(name);
    const names = await Promise.all(
      this.limitingHierarchies.map(async (top) => (await childrenOf(join(top, path))) ?? []),
    );
    return [...new Set(names.flat())].map((child) => join(path, child));
  }

  isPopulated(path: string): Promise<boolean> {
    return Promise.resolve(this.deps.mounts.hierarchies.some((top) => isPopulatedBelow(join(top, path))));
  }

  async destroy(name: CgroupName): Promise<void> {
    const path = this.path(name);
    // Synchronous, because the kernel answers from memory.
    if (!this.deps.mounts.hierarchies.some((top) => existsSync(join(top, path)))) return;
    for (const delayMs of [...removalDelaysMs, undefined]) {
      // Processes of other PID namespaces are listed as 0, and kill(0) would kill the agent itself.
      for (const pid of await this.processesIn(path)) if (pid > 0) this.deps.files.kill(pid);
      try {
        await this.removeEverywhere(path);
        return;
      } catch (error) {
        if (!hasCode(error, 'EBUSY') || delayMs === undefined) throw error;
        await this.deps.clock.sleep(delayMs);
      }
    }
  }

  async removeIfEmpty(name: CgroupName): Promise<void> {
    const path = this.path(name);
    for (const top of this.deps.mounts.hierarchies) {
      const folder = join(top, path);
      if ((await childrenOf(folder))?.length !== 0) continue;
      await this.removeFolder(folder).catch((error: unknown) => {
        if (!hasCode(error, 'EBUSY')) throw error;
      });
    }
  }

  private path(name: CgroupName): string {
    return cgroupPath(name, this.deps.driver);
  }

  /** Top folders of the hierarchies with controllers, or of all hierarchies if there is no controller. */
  private get limitingHierarchies(): string[] {
    const { controllers, hierarchies } = this.deps.mounts;
    return controllers.size > 0 ? [...new Set(controllers.values())] : [...hierarchies];
  }

  private async createInEveryHierarchy(name: CgroupName): Promise<CgroupRefusal[]> {
    const found: CgroupRefusal[] = [];
    for (const [controller, top] of this.deps.mounts.controllers) {
      const path = join(top, this.path(name));
      const error = await refusalOf(() => this.deps.files.makeFolder(path));
      if (error !== undefined) found.push({ controller, path, error });
    }
    return found;
  }

  /** A controller works in a cgroup only if every ancestor enables it. */
  private async createUnified(name: CgroupName): Promise<CgroupRefusal[]> {
    const { controllers, hierarchies } = this.deps.mounts;
    const [top = ''] = hierarchies;
    const found: CgroupRefusal[] = [];
    let path = top;
    for (const part of this.path(name).split('/').filter(Boolean)) {
      found.push(...(await this.enableBelow(path)));
      path = join(path, part);
      const error = await refusalOf(() => this.deps.files.makeFolder(path));
      if (error !== undefined) return [...controllers.keys()].map((controller) => ({ controller, path, error }));
    }
    return found;
  }

  private async enableBelow(folder: string): Promise<CgroupRefusal[]> {
    const path = join(folder, 'cgroup.subtree_control');
    const enabled = (await readFile(path, 'utf8')).trim().split(' ');
    const found: CgroupRefusal[] = [];
    for (const controller of this.deps.mounts.controllers.keys()) {
      if (enabled.includes(controller)) continue;
      const error = await refusalOf(() => this.enable(folder, controller));
      if (error !== undefined) found.push({ controller, path, error });
    }
    return found;
  }

  /**
   * Inside a container, the top folder contains processes and must be evacuated first. The root cgroup of a machine may
   * contain processes.
   */
  private async enable(folder: string, controller: CgroupController): Promise<void> {
    const { files, mounts } = this.deps;
    const enable = (): Promise<void> => files.write(join(folder, 'cgroup.subtree_control'), `+${controller}`);
    try {
      await enable();
    } catch (error) {
      if (!hasCode(error, 'EBUSY') || folder !== mounts.hierarchies[0]) throw error;
      await evacuateCgroup(folder, files);
      await enable();
    }
  }

  private async processesIn(path: string): Promise<number[]> {
    const found = await Promise.all(this.deps.mounts.hierarchies.map((top) => processesBelow(join(top, path))));
    return [...new Set(found.flat())];
  }

  private async removeEverywhere(path: string): Promise<void> {
    for (const top of this.deps.mounts.hierarchies) await this.removeTree(join(top, path));
  }

  /** Removes the leaves first, because a cgroup with children cannot be removed. */
  private async removeTree(folder: string): Promise<void> {
    const children = await childrenOf(folder);
    if (children === undefined) return;
    for (const child of children) await this.removeTree(join(folder, child));
    await this.removeFolder(folder);
  }

  private async removeFolder(folder: string): Promise<void> {
    await ifPresent(this.deps.files.removeFolder(folder));
  }
}

const memoryQoSFiles = ['memory.min', 'memory.low', 'memory.high'];

async function refusalOf(act: () => Promise<void>): Promise<Error | undefined> {
  try {
    await act();
    return undefined;
  } catch (error) {
    if (hasCode(error, ...refusalCodes)) return toError(error);
    throw error;
  }
}

/** Resolves with undefined if the folder is missing. */
async function childrenOf(folder: string): Promise<string[] | undefined> {
  const entries = await ifPresent(readdir(folder, { withFileTypes: true }));
  return entries?.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/**
 * Synchronous, because the kernel answers from memory. With promises, hundreds of left-over cgroups would take twenty
 * times as long at each start and each change of shares.
 */
function isPopulatedBelow(folder: string): boolean {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats === undefined) return false;
  try {
    if (readFileSync(join(folder, 'cgroup.procs'), 'utf8') !== '') return true;
    // A folder has two links plus one for each folder in it. Some file systems do not count them.
    if (stats.nlink === 2) return false;
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.some((entry) => entry.isDirectory() && isPopulatedBelow(join(folder, entry.name)));
  } catch (error) {
    if (hasCode(error, ...unreadableCodes)) return false;
    throw error;
  }
}

async function processesBelow(folder: string): Promise<number[]> {
  const children = (await childrenOf(folder)) ?? [];
  const below = await Promise.all(children.map((child) => processesBelow(join(folder, child))));
  return [...(await readProcesses(join(folder, 'cgroup.procs'))), ...below.flat()];
}

async function readProcesses(file: string): Promise<number[]> {
  const pids = await ifPresent(readFile(file, 'utf8'), ...unreadableCodes);
  return (pids ?? '').split('\n').filter(Boolean).map(Number);
}

/**
 * Errors when a process list is read: the cgroup was removed, or it is threaded and an ancestor lists its processes.
 */
const unreadableCodes = ['ENOENT', 'ENODEV', 'EOPNOTSUPP'];

/**
 * Moves the processes of a cgroup into its child `init`, because cgroup v2 does not delegate controllers from a cgroup
 * that contains processes. Leaves processes that cannot be moved.
 */
async function evacuateCgroup(folder: string, files: Pick<CgroupFiles, 'makeFolder' | 'write'>): Promise<void> {
  const child = join(folder, 'init');
  const immovable = new Set<number>();
  await files.makeFolder(child);
  for (let round = 0; round < maxEvacuationRounds; round++) {
    const pids = (await readFile(join(folder, 'cgroup.procs'), 'utf8')).split('\n').filter(Boolean).map(Number);
    // Processes of other PID namespaces are listed as 0, which would move the agent itself.
    const movable = pids.filter((pid) => pid > 0 && !immovable.has(pid));
    if (movable.length === 0) return;
    for (const pid of movable) {
      await files.write(join(child, 'cgroup.procs'), String(pid)).catch((error: unknown) => {
        // ESRCH: the process has exited.
        if (!hasCode(error, 'ESRCH')) immovable.add(pid);
      });
    }
  }
}
