import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Writes a file so that a reader, or we after a crash, see the old content or the new one and never a part of it. A file
 * that has the content already stays as it is: flash wears out. Rejects with the error of the file system.
 */
export async function writeFileAtomic(path: string, content: string | Uint8Array, mode = 0o600): Promise<void> {
  const bytes = Buffer.from(content);
  const present = await readFile(path).catch(() => undefined);
  if (present?.equals(bytes) === true) return;
  await mkdir(dirname(path), { recursive: true });
  await replaceFile(path, bytes, mode);
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
  const file = await open(path, 'w', mode);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}
