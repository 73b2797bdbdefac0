import { lstat, readFile, realpath, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { managedPaths } from '../../containerd/managed-paths.ts';
import { type Snapshotter, snapshotterIn } from '../../containerd/snapshotter.ts';
import { readMachine } from '../../engine/container-manager/machine.ts';
import { readMountInfo } from '../../engine/host/mount-info.ts';
import { readClockSettings } from '../../engine/host/wall-clock-store.ts';
import { hasCode } from '../../errors.ts';
import { findMount, findReadOnlyMount } from '../../files/read-only-mount.ts';
import { buildTime } from '../../process/build-time.ts';
import type { ClockFacts, DiskFacts, MemoryFacts, PathFacts, RuntimeFacts } from './checks/facts.ts';
import type { Fact } from './checks/finding.ts';
import { readImageFolders } from './read-runtime-facts.ts';

export async function readClock(rootDir: string): Promise<ClockFacts> {
  const offsets = (await readClockSettings(rootDir)).map(({ offset }) => offset);
  return {
    now: Date.now(),
    builtAt: await buildTime(),
    stepsMs: offsets.slice(1).map((offset, index) => offset - (offsets[index] ?? offset)),
  };
}

export async function readMemory(rootDir: string): Promise<MemoryFacts> {
  const place = await existing(rootDir);
  const [text, machine] = await Promise.all([readFile('/proc/meminfo', 'utf8'), readMachine(place)]);
  const kibibytes = /^MemAvailable:\s+(\d+) kB$/m.exec(text)?.[1] ?? '0';
  const { swaps, hasSwapController, memoryBytes } = machine;
  return { availableBytes: BigInt(kibibytes) * 1024n, totalBytes: memoryBytes, swaps, hasSwapController };
}

export async function readDisk(use: DiskFacts['use'], path: string): Promise<DiskFacts> {
  const { bavail, bsize, blocks, ffree, files } = await statfs(await existing(path), { bigint: true });
  const [realPath, mountInfo] = [await realpath(await existing(path)), await readMountInfo()];
  const readOnlyMount = findReadOnlyMount(realPath, mountInfo);
  const mount = findMount(realPath, mountInfo);
  const noexecMount = mount?.options.includes('noexec') === true ? mount.point : undefined;
  const inodesOf = { freeInodes: ffree, inodes: files };
  return { use, path, freeBytes: bavail * bsize, sizeBytes: blocks * bsize, ...inodesOf, readOnlyMount, noexecMount };
}

/** The folder of images: that of the runtime if it answers, or else that of the managed containerd. */
export async function imageFolder(rootDir: string, runtime: Fact<RuntimeFacts>): Promise<string> {
  const isAnswering = 'value' in runtime && runtime.value.kind === 'chosen' && runtime.value.answer !== undefined;
  const folders = isAnswering ? await readImageFolders(endpointOf(runtime.value)).catch(() => []) : [];
  return folders[0] ?? managedPaths(rootDir).root;
}

/** The snapshotter of the managed containerd. */
export async function readSnapshotter(rootDir: string): Promise<Snapshotter> {
  return snapshotterIn(await readFile(managedPaths(rootDir).configFile, 'utf8').catch(() => ''));
}

const endpointOf = (runtime: RuntimeFacts): string => (runtime.kind === 'chosen' ? runtime.endpoint : '');

/** The path, or its nearest existing parent. */
async function existing(path: string): Promise<string> {
  try {
    await stat(path);
    return path;
  } catch (error) {
    if (!hasCode(error, 'ENOENT') || path === '/') throw error;
    return existing(dirname(path));
  }
}

export async function readPath(what: PathFacts['what'], path: string): Promise<PathFacts> {
  try {
    // The target of a link counts, except for the socket.
    const { uid, mode } = await (what === 'control socket' ? lstat(path) : stat(path));
    return { what, path, found: { uid, mode, isLink: (await lstat(path)).isSymbolicLink() } };
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return { what, path };
    throw error;
  }
}
