import { realpath, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { hasCode } from '../../errors.ts';
import { readMountPoints } from '../mount-points.ts';

/** True when something is mounted on exactly this path. */
export async function isMountPoint(path: string): Promise<boolean> {
  return (await mountPointsUnder(path)).includes(await asTheKernelNames(path));
}

/** Mounts a tmpfs on `path` unless something is mounted there already. `sizeBytes` undefined: the kernel's default. */
export async function mountTmpfs(path: string, sizeBytes: bigint | undefined): Promise<void> {
  if (await isMountPoint(path)) return;
  const options = sizeBytes === undefined ? [] : ['-o', `size=${sizeBytes.toString()}`];
  await run('mount', '-t', 'tmpfs', ...options, 'tmpfs', path);
}

/**
 * Unmounts everything at and below `path`, deepest first, then deletes it. When something cannot be unmounted nothing is
 * deleted, as deleting would go through the mount.
 */
export async function removeTree(path: string): Promise<void> {
  for (const mountPoint of await mountPointsUnder(path)) await run('umount', mountPoint);
  await rm(path, { recursive: true, force: true });
}

/** Mount points at or below `path`, deepest first, as the kernel names them. */
export async function mountPointsUnder(path: string): Promise<string[]> {
  const real = await asTheKernelNames(path);
  const mountPoints = await readMountPoints();
  return mountPoints.filter((mountPoint) => mountPoint === real || mountPoint.startsWith(`${real}/`)).reverse();
}

/** The path without links above it. A link at its end stays: it is itself what is deleted, not what it leads to. */
async function asTheKernelNames(path: string): Promise<string> {
  try {
    return join(await realpath(dirname(path)), basename(path));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return path;
    throw error;
  }
}

/** Most nodes never mount anything, so what it takes is loaded with the first call. */
async function run(program: string, ...args: string[]): Promise<void> {
  const { execa } = await import('execa');
  await execa(program, args);
}
