/*
 * INVARIANTS: every file that a container, or another program than ours, may put something else in the place of is opened
 * here. A named pipe without a writer would hold a thread of libuv for ever, and there are four; opening a device can do
 * anything, such as arm a watchdog. So a path is first opened for nothing at all (O_PATH), and what turned out to be a regular
 * file is opened by its descriptor: nobody can swap it in between.
 */
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { hasCode, UserError } from '../../errors.ts';

/** Linux' O_PATH, which Node has no name for: nothing is read, and no device or pipe notices. */
const O_PATH = 0o10_000_000;
const readOnly = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
const writeOnly = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
const writeNew = writeOnly | constants.O_CREAT | constants.O_EXCL;

interface OpenOptions {
  /** A link at the end of the path is followed, as a link to a log is. By default it is refused. */
  followLinks?: boolean;
}

/** The path leads to something that is not a regular file. */
export class NotARegularFile extends UserError {}

/**
 * Opens a regular file to read. Never waits for a writer. Rejects with `NotARegularFile` for everything else, with the error
 * of the file system when there is nothing. Whoever opens one closes it.
 */
export function openRegularFile(path: string | Buffer, options: OpenOptions = {}): Promise<FileHandle> {
  return openAs(path, readOnly, options);
}

/** The whole of a regular file. Rejects as `openRegularFile` does, and with a `UserError` for one of more than `maxBytes`. */
export async function readRegularFile(
  path: string | Buffer,
  maxBytes: number,
  options: OpenOptions = {},
): Promise<Buffer> {
  const file = await openRegularFile(path, options);
  try {
    // One more than there may be: a file grows while it is read, and the size that /proc gives is 0.
    const bytes = await readAt(file, 0, Math.min((await file.stat()).size, maxBytes) + 1, maxBytes + 1);
    if (bytes.length > maxBytes) throw new UserError(`${path.toString()} is larger than ${maxBytes} bytes`);
    return bytes;
  } finally {
    await file.close();
  }
}

/** The last `maxBytes` of a regular file; undefined when there is no such file. Rejects as `openRegularFile` does. */
export async function readFileTail(path: string, maxBytes: number): Promise<Uint8Array | undefined> {
  let file;
  try {
    file = await openRegularFile(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
  try {
    const { size } = await file.stat();
    const length = Math.min(size, maxBytes);
    return await readAt(file, size - length, length, length);
  } finally {
    await file.close();
  }
}

/**
 * Writes a file of ours in place, so that a container which has it mounted sees the new content. Something else in its place,
 * such as a link or a named pipe, is removed first and nothing of it is written to.
 */
export async function writeInPlace(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  const file = await openToWrite(path, mode);
  try {
    await file.truncate(0);
    await file.writeFile(content);
    // A new file is bound by the umask, chmod is not.
    await file.chmod(mode);
  } finally {
    await file.close();
  }
}

/** Makes a new file with exactly this mode. Rejects with EEXIST when there is anything of that name. */
export async function writeNewFile(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  const file = await open(path, writeNew, mode);
  try {
    await file.writeFile(content);
    await file.chmod(mode);
  } finally {
    await file.close();
  }
}

async function openToWrite(path: string, mode: number): Promise<FileHandle> {
  try {
    return await openAs(path, writeOnly, {});
  } catch (error) {
    if (error instanceof NotARegularFile) await rm(path, { recursive: true });
    else if (!hasCode(error, 'ENOENT')) throw error;
    return open(path, writeNew, mode);
  }
}

async function openAs(path: string | Buffer, flags: number, { followLinks = false }: OpenOptions): Promise<FileHandle> {
  const found = await open(path, O_PATH | (followLinks ? 0 : constants.O_NOFOLLOW));
  try {
    const stats = await found.stat();
    if (!stats.isFile()) throw new NotARegularFile(`${path.toString()} is ${kindOf(stats)}, not a regular file`);
    return await open(`/proc/self/fd/${found.fd}`, flags);
  } finally {
    await found.close();
  }
}

/** From `start` to the end, `maxBytes` at most; `expected` of them are asked for at first. */
async function readAt(file: FileHandle, start: number, expected: number, maxBytes: number): Promise<Buffer> {
  let bytes = Buffer.alloc(expected);
  let length = 0;
  while (length < maxBytes) {
    if (length === bytes.length) bytes = Buffer.concat([bytes], Math.min(2 * length, maxBytes));
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, start + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

function kindOf(stats: Stats): string {
  if (stats.isSymbolicLink()) return 'a link';
  if (stats.isDirectory()) return 'a directory';
  if (stats.isFIFO()) return 'a named pipe';
  if (stats.isSocket()) return 'a socket';
  return 'a device';
}
