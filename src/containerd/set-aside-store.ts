import { readFile, realpath, rename, rm, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { execa } from 'execa';
import { pathExists } from '../files/path-exists.ts';
import { unescaped } from '../files/read-only-mount.ts';
import type { ManagedPaths } from './managed-paths.ts';

/** The store that was set aside. */
export interface StoreSetAside {
  readonly path: string;
  readonly bytes: number;
  /** False if the disk lacks the room for a second store, so that it was deleted. */
  readonly isKept: boolean;
}

/**
 * Moves the store of a containerd that does not run and has no shims out of its way, and removes its state. Keeps one
 * old store, unless the disk lacks the room for another of its size. Without a store, which was set aside by a process
 * that crashed, or by another one, the old store stays as it is.
 */
export async function setAsideStore({ root, state }: Pick<ManagedPaths, 'root' | 'state'>): Promise<StoreSetAside> {
  const path = `${root}.damaged`;
  for (const folder of [state, root, path]) await unmountBelow(folder);
  await rm(state, { recursive: true, force: true });
  if (await pathExists(root)) {
    await rm(path, { recursive: true, force: true });
    await rename(root, path);
  }
  const bytes = await diskUsage(path);
  const { bavail, bsize } = await statfs(join(path, '..'));
  const isKept = bavail * bsize >= bytes;
  if (!isKept) await rm(path, { recursive: true, force: true });
  return { path, bytes, isKept };
}

/** Mounts of a dead containerd: volatile overlays, and network namespaces. */
async function unmountBelow(folder: string): Promise<void> {
  // The kernel knows no links on the way. A store that is a link itself is elsewhere, beside mounts of others.
  const real = join(await realpath(dirname(folder)), basename(folder));
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').map((line) => line.split(' ')[4] ?? '');
  const below = mounts.map(unescaped).filter((path) => path.startsWith(`${real}/`));
  for (const path of below.reverse()) await execa('umount', ['-l', path]);
}

const usageTimeoutMs = 60_000;

/** Bytes on the disk. What cannot be read in a damaged folder is left out. */
async function diskUsage(folder: string): Promise<number> {
  const { stdout } = await execa('du', ['-skx', folder], { reject: false, timeout: usageTimeoutMs });
  return 1024 * Number.parseInt(stdout || '0', 10);
}
