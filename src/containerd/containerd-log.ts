import { copyFile, open, rename, stat, truncate } from 'node:fs/promises';
import { hasCode } from '../errors.ts';

/** A start moves a longer log away, and a running containerd's is cut. */
export const maxLogBytes = 10 * 1024 * 1024;

/** Keeps the log below its bound while nobody writes it: it becomes `<file>.1`. */
export async function rotateLog(file: string, maxBytes = maxLogBytes): Promise<void> {
  if ((await sizeOf(file)) > maxBytes) await rename(file, `${file}.1`);
}

/** Keeps the log below its bound while containerd has it open to append: copied to `<file>.1`, then emptied in place. */
export async function cutLog(file: string, maxBytes = maxLogBytes): Promise<void> {
  if ((await sizeOf(file)) <= maxBytes) return;
  await copyFile(file, `${file}.1`);
  await truncate(file);
}

/** The last lines of the log from this byte on, oldest first. */
export async function readLastLines(
  file: string,
  options: { fromByte?: number; lines?: number } = {},
): Promise<string[]> {
  const { fromByte = 0, lines = 5 } = options;
  const size = await sizeOf(file);
  const start = Math.max(Math.min(fromByte, size), size - 64 * 1024);
  if (size === start) return [];
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - start), 0, size - start, start);
    const text = buffer.toString('utf8', 0, bytesRead);
    return text
      .split('\n')
      .filter((line) => line !== '')
      .slice(-lines);
  } finally {
    await handle.close();
  }
}

/** Bytes in a file, 0 when there is none. */
export async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 0;
    throw error;
  }
}
