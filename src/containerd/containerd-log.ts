import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, stat, truncate } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { ifPresent } from '../files/if-present.ts';

/** Limit of the log. A longer log is moved away at a start, or cut while containerd runs. */
export const maxLogBytes = 10 * 1024 * 1024;

/** Moves the end of a log above its limit to `<file>.1`. No process may be writing it. */
export async function rotateContainerdLog(file: string, maxBytes = maxLogBytes): Promise<void> {
  const size = await sizeOf(file);
  if (size <= maxBytes) return;
  const moved = `${file}.1`;
  await rename(file, moved);
  // In place, because the disk may be full. Each byte is read before it is overwritten. A failure spoils the moved log
  // only, which must not keep containerd from starting.
  await pipeline(createReadStream(moved, { start: size - maxBytes }), createWriteStream(moved, { flags: 'r+' })).catch(
    () => undefined,
  );
  await truncate(moved, maxBytes).catch(() => undefined);
}

/**
 * Copies the end of a log above its limit to `<file>.1` and empties it in place, while containerd appends to it. If the
 * copy fails, such as on a full disk, the log is emptied nevertheless.
 */
export async function cutLog(file: string, maxBytes = maxLogBytes): Promise<void> {
  const size = await sizeOf(file);
  if (size <= maxBytes) return;
  const end = createReadStream(file, { start: size - maxBytes, end: size - 1 });
  try {
    await pipeline(end, createWriteStream(`${file}.1`, { mode: 0o600 }));
  } finally {
    await truncate(file);
  }
}

/** The last lines of the log after this byte, oldest first. */
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

/** Size of a file in bytes; 0 if it is missing. */
export async function sizeOf(file: string): Promise<number> {
  return (await ifPresent(stat(file)))?.size ?? 0;
}
