import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, stat, truncate } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { ifPresent } from '../files/if-present.ts';

/** Limit of the log. A longer log is moved away when containerd starts, or cut while containerd runs. */
export const maxLogBytes = 10 * 1024 * 1024;

/** Enough for the trace of a crash, which begins with the reason. */
export const maxProblemLines = 500;

/** Moves the last part of a log above its limit to `<file>.1`. No process may be writing to the log. */
export async function rotateContainerdLog(file: string, maxBytes = maxLogBytes): Promise<void> {
  const size = await sizeOf(file);
  if (size <= maxBytes) return;
  const moved = `${file}.1`;
  await rename(file, moved);
  // Works in place, because the disk may be full. Each byte is read before it is overwritten. A failure only spoils the
  // moved log and must not keep containerd from starting.
  await pipeline(createReadStream(moved, { start: size - maxBytes }), createWriteStream(moved, { flags: 'r+' })).catch(
    () => undefined,
  );
  await truncate(moved, maxBytes).catch(() => undefined);
}

/**
 * Copies the last part of a log above its limit to `<file>.1` and empties the log in place, while containerd appends to
 * it. Empties it even if the copy fails, such as on a full disk.
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

/** The line before those of a newly launched containerd. */
export const launchLine = '--- kubelet-ts launches containerd ---';

/**
 * Returns the last lines of the most recently launched containerd, oldest first. `fromByte`: the size of the log at the
 * launch, for a disk that had no room for `launchLine`.
 */
export async function readLastLines(
  file: string,
  options: { fromByte?: number; lines?: number } = {},
): Promise<string[]> {
  const { fromByte = 0, lines = 5 } = options;
  const size = await sizeOf(file);
  // A shorter log was emptied after the launch.
  const start = Math.max(fromByte > size ? 0 : fromByte, size - 64 * 1024);
  if (size === start) return [];
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - start), 0, size - start, start);
    const all = buffer.toString('utf8', 0, bytesRead).split('\n');
    const own = all.slice(all.lastIndexOf(launchLine) + 1);
    return own.filter((line) => line !== '').slice(-lines);
  } finally {
    await handle.close();
  }
}

/** Returns the size of a file in bytes, or 0 if it is missing. */
export async function sizeOf(file: string): Promise<number> {
  return (await ifPresent(stat(file)))?.size ?? 0;
}
