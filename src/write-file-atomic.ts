import { constants } from 'node:fs';
import { lstat, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode } from './errors.ts';
import { makeFolder } from './make-folder.ts';

/**
 * Writes a file so that a reader, or we after a crash, see the old content or the new one and never a part of it. A file
 * that has the content already stays as it is: flash wears out. Rejects with the error of the file system.
 */
export async function writeFileAtomic(path: string, content: string | Uint8Array, mode = 0o600): Promise<void> {
  const bytes = Buffer.from(content);
  if (await holds(path, bytes)) return;
  await makeFolder(dirname(path), 0o777);
  await replaceFile(path, bytes, mode);
}

/** Whatever is no file of ours counts as another content: neither a link nor a named pipe is read. */
async function holds(path: string, bytes: Buffer): Promise<boolean> {
  try {
    const stats = await lstat(path);
    if (!stats.isFile() || stats.size !== bytes.length) return false;
    const flag = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    return (await readFile(path, { flag })).equals(bytes);
  } catch {
    // There is none, or it went meanwhile.
    return false;
  }
}

/** Puts a file in place, whole, whatever was there; its folder must exist. Rejects with the error of the file system. */
export async function replaceFile(path: string, bytes: Uint8Array, mode = 0o600): Promise<void> {
  const temporary = `${path}.${String(process.pid)}.tmp`;
  try {
    await writeAndSync(temporary, bytes, mode);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function writeAndSync(path: string, bytes: Uint8Array, mode: number): Promise<void> {
  // What a crash left of it, or somebody put there.
  await rm(path, { recursive: true, force: true });
  const file = await open(path, 'wx', mode);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Resolves when the names in a folder are on the disk. Absent is fine. Rejects with the error of the file system. */
export async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
    await folder.sync().finally(() => folder.close());
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}
