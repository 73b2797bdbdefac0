import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { hasCode, UserError } from '../errors.ts';

/** Returns the path of the file with the checksum of an archive, in the format of `sha256sum`. */
export const checksumFileOf = (archive: string): string => `${archive}.sha256`;

/** Enough for one line of `sha256sum` with the longest file name. */
const maxBytes = 4096;

/**
 * Compares an archive with the checksum file next to it. Rejects with a `UserError` if they differ or the checksum file
 * cannot be read. Checks nothing if there is no checksum file.
 */
export async function verifyArchiveChecksum(archive: string, signal?: AbortSignal): Promise<void> {
  const file = checksumFileOf(archive);
  const text = await readSmallFile(file);
  if (text === undefined) return;
  const expected = /^\\?([0-9a-f]{64})(?=\s|$)/i.exec(text)?.[1]?.toLowerCase();
  if (expected === undefined) {
    throw new UserError(`${file} holds no SHA-256 checksum`, { hint: `Write it: ${sha256sum(archive)}` });
  }
  const actual = await sha256Of(archive, signal);
  if (actual === expected) return;
  throw new UserError(`the image archive ${archive} is damaged: its SHA-256 is ${actual}, not ${expected}`, {
    hint: `Copy ${basename(archive)} again. If it was changed on purpose: ${sha256sum(archive)}`,
  });
}

const sha256sum = (archive: string): string => `sha256sum ${basename(archive)} > ${basename(checksumFileOf(archive))}`;

/** Returns undefined if the file is missing. Does not wait for a named pipe. */
async function readSmallFile(path: string): Promise<string | undefined> {
  let handle;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
  try {
    await requireFile(handle, path);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(maxBytes), 0, maxBytes, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

async function sha256Of(path: string, signal: AbortSignal | undefined): Promise<string> {
  const hash = createHash('sha256');
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const source = handle.createReadStream({ highWaterMark: 1 << 20 });
  await requireFile(handle, path).catch((error: unknown) => {
    source.destroy();
    throw error;
  });
  await (signal === undefined ? pipeline(source, hash) : pipeline(source, hash, { signal }));
  return hash.digest('hex');
}

async function requireFile(handle: FileHandle, path: string): Promise<void> {
  if (!(await handle.stat()).isFile()) throw new UserError(`${path} is not a regular file`);
}
