import { constants } from 'node:fs';
import { lstat, open, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { hasCode, withPath } from '../errors.ts';
import { makeFolder } from './make-folder.ts';
import { listFolder } from './list-folder.ts';

/**
 * Writes a file atomically: a reader, even after a crash, sees either the old or the new content. Does not rewrite
 * unchanged content, because that wears out flash. Rejects with the error of the file system.
 */
export async function writeFileAtomic(path: string, content: string | Uint8Array, mode = 0o600): Promise<void> {
  const bytes = Buffer.from(content);
  if (await holds(path, bytes)) return;
  await makeFolder(dirname(path), 0o777);
  await replaceFile(path, bytes, { mode });
}

/** True if the path is a regular file with this content. Does not read links or named pipes. */
async function holds(path: string, bytes: Buffer): Promise<boolean> {
  try {
    const stats = await lstat(path);
    if (!stats.isFile() || stats.size !== bytes.length) return false;
    const flag = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    return (await readFile(path, { flag })).equals(bytes);
  } catch {
    // The file is missing.
    return false;
  }
}

interface ReplaceOptions {
  mode?: number;
  /**
   * If true (the default), the file survives a power failure with the old or the new content. If false, a power failure
   * may corrupt it.
   */
  isDurable?: boolean;
}

/**
 * Atomically replaces a path with a file. Its folder must exist. Rejects with the error of the file system and leaves
 * no partial file.
 */
export async function replaceFile(path: string, bytes: Uint8Array, options: ReplaceOptions = {}): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    await writeNew(temporary, bytes, options);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw withPath(error, path);
  }
}

/** Removes what processes left behind that were killed while they replaced this path. Rejects with the system error. */
export async function removeTemporary(path: string): Promise<void> {
  const start = `${basename(path)}.`;
  const isTemporary = (name: string): boolean => name.startsWith(start) && /^\d+\.tmp$/.test(name.slice(start.length));
  const names = await listFolder(dirname(path));
  for (const name of names.filter(isTemporary)) await rm(join(dirname(path), name), { force: true });
}

async function writeNew(
  path: string,
  bytes: Uint8Array,
  { mode = 0o600, isDurable = true }: ReplaceOptions,
): Promise<void> {
  // Removes what a crash left behind, or a planted file.
  await rm(path, { recursive: true, force: true });
  const file = await open(path, 'wx', mode);
  try {
    await file.writeFile(bytes);
    if (isDurable) await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Resolves when the names in a folder are on the disk, or if the folder is missing. Rejects with the error of the file
 * system.
 */
export async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
    await folder.sync().finally(() => folder.close());
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}
