import { lstat, mkdir, rmdir, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { getSystemErrorMap } from 'node:util';
import { errorMessage, isSystemError, UserError } from '../../errors.ts';
import { ifPresent } from '../../files/if-present.ts';
import { writeNewFile } from '../../files/regular-file.ts';
import { existsInsideVolume, makeFolderInsideVolume, openInsideVolume } from './inside-volume.ts';
import { bindMount, isMountPoint, unmountTree } from '../host/mounts.ts';
import type { OpenEntry } from '../host/open-entry.ts';
import { makeFolder } from '../../files/make-folder.ts';

/** A subpath of a volume that a container mounts. kubelet: pkg/volume/util/subpath Subpath */
export interface SubPath {
  /** `<root-dir>/pods/<uid>` */
  podDir: string;
  volumeName: string;
  volumePath: string;
  /** Inside the volume, without "..". */
  path: string;
  containerName: string;
  /** Index in the container's volumeMounts. */
  mountIndex: number;
}

/** Path on the host where the subpath is mounted for the runtime. */
export function subPathTarget({ podDir, volumeName, containerName, mountIndex }: SubPath): string {
  return join(podDir, 'volume-subpaths', volumeName, containerName, String(mountIndex));
}

/**
 * Mounts a subpath of a volume at `subPathTarget`. Creates a folder if the subpath is missing. Keeps an existing mount
 * of the same file or folder and replaces any other. Containers cannot redirect it outside of the volume. Rejects with
 * a `UserError` that does not mention paths of the host. The next call or the pod's removal cleans up after a crash.
 * kubelet: pkg/volume/util/subpath/subpath_linux.go PrepareSafeSubpath
 */
export async function bindSubPath(subPath: SubPath): Promise<void> {
  const { volumePath, path, volumeName, containerName } = subPath;
  const where = `volumeMount "${volumeName}" of container "${containerName}"`;
  // If this fails, opening it reports the error.
  const exists = await existsInsideVolume(volumePath, path).catch(() => true);
  if (!exists) {
    await failingWith(`failed to create subPath directory for ${where}`, makeFolderInsideVolume(volumePath, path));
  }
  await failingWith(`failed to prepare subPath for ${where}`, openAndBind(subPath));
}

async function openAndBind(subPath: SubPath): Promise<void> {
  const entry = await openInsideVolume(subPath.volumePath, subPath.path);
  try {
    await bind(entry, subPathTarget(subPath));
  } finally {
    await entry.close();
  }
}

async function bind(entry: OpenEntry, target: string): Promise<void> {
  if (await isMountPoint(target)) {
    if (await isAt(target, entry)) return;
    await unmountTree(target);
  }
  await makeTarget(entry, target);
  try {
    await bindMount(entry.path, target);
    if (!(await isAt(target, entry))) throw new Error(`something else is mounted on ${target}`);
  } catch (error) {
    await unmountTree(target);
    await removeTarget(target);
    throw error;
  }
}

/** Bind mounts require a folder for a folder, and a file for everything else. */
async function makeTarget(entry: OpenEntry, target: string): Promise<void> {
  await makeFolder(dirname(target), 0o750);
  await removeTarget(target);
  await (entry.stats.isDirectory() ? mkdir(target, { mode: 0o750 }) : writeNewFile(target, '', 0o640));
}

async function removeTarget(target: string): Promise<void> {
  const stats = await ifPresent(lstat(target));
  if (stats !== undefined) await ifPresent((stats.isDirectory() ? rmdir : unlink)(target));
}

async function isAt(target: string, { stats }: OpenEntry): Promise<boolean> {
  const { dev, ino } = await lstat(target, { bigint: true });
  return dev === stats.dev && ino === stats.ino;
}

async function failingWith(message: string, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (cause) {
    throw new UserError(`${message}: ${causeText(cause)}`, { cause });
  }
}

/** Leaves out the path, which is a descriptor or one of the agent's folders. */
function causeText(cause: unknown): string {
  if (!isSystemError(cause)) return errorMessage(cause);
  const [, reason = cause.code] = getSystemErrorMap().get(cause.errno ?? 0) ?? [];
  return reason;
}
