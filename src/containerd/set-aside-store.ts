import { lstat, mkdir, readdir, readFile, realpath, rename, rm, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { execa } from 'execa';
import { hasCode } from '../errors.ts';
import { listFolder } from '../files/list-folder.ts';
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
  const beside = `${root}.damaged`;
  for (const folder of [state, root, beside]) await unmountBelow(folder);
  await removeFolder(state);
  const path = (await pathExists(root)) ? await moveAside(root, beside) : beside;
  const bytes = await diskUsage(path);
  const { bavail, bsize } = await statfs(join(path, '..'));
  const isKept = bavail * bsize >= bytes;
  if (!isKept) await rm(path, { recursive: true, force: true });
  return { path, bytes, isKept };
}

/** Moves a store next to its folder, or inside it if that is a mount point or a link, so that it stays on its disk. */
async function moveAside(root: string, beside: string): Promise<string> {
  if (!(await lstat(root)).isSymbolicLink()) {
    await rm(beside, { recursive: true, force: true });
    if (await rename(root, beside).then(() => true, unlessBusy)) return beside;
  }
  const inside = join(root, 'damaged');
  const names = (await readdir(root)).filter((name) => name.startsWith('io.containerd.'));
  if (names.length === 0) return inside;
  await rm(inside, { recursive: true, force: true });
  await mkdir(inside, { mode: 0o700 });
  // The database comes first. After a crash, a new containerd deletes what it does not know.
  for (const name of [...names.filter(isDatabase), ...names.filter((other) => !isDatabase(other))])
    await rename(join(root, name), join(inside, name));
  return inside;
}

const isDatabase = (name: string): boolean => name.startsWith('io.containerd.metadata.');

/** A mount point stays, but is empty. */
async function removeFolder(path: string): Promise<void> {
  for (const name of await listFolder(path, 'ENOTDIR')) await rm(join(path, name), { recursive: true, force: true });
  await rm(path, { recursive: true, force: true }).catch(unlessBusy);
}

/** A mount point cannot be removed or renamed. */
function unlessBusy(error: unknown): false {
  if (hasCode(error, 'EBUSY')) return false;
  throw error;
}

/** Mounts of a dead containerd: volatile overlays, and network namespaces. */
async function unmountBelow(folder: string): Promise<void> {
  // The kernel knows no links on the way. A store that is a link itself is elsewhere, beside mounts of others.
  const real = join(await realpath(dirname(folder)), basename(folder));
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').map((line) => line.split(' ')[4] ?? '');
  const below = mounts.map(unescaped).filter((path) => path.startsWith(`${real}/`));
  for (const path of below.reverse()) await execa('umount', ['-l', path], { timeout: unmountTimeoutMs });
}

const unmountTimeoutMs = 15_000;
const usageTimeoutMs = 60_000;

/** Bytes on the disk. What cannot be read in a damaged folder is left out. */
async function diskUsage(folder: string): Promise<number> {
  const { stdout } = await execa('du', ['-skx', folder], { reject: false, timeout: usageTimeoutMs });
  return 1024 * Number.parseInt(stdout || '0', 10);
}
