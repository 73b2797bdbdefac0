/*
 * INVARIANTS: every file that a container or another program could replace is opened here. A named pipe without a
 * writer would block one of libuv's four threads forever. Opening a device can do anything, such as arm a watchdog. So
 * a path is first opened with O_PATH. If it is a regular file, it is then opened through that descriptor, so that
 * nobody can swap it in between.
 */
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, rm } from 'node:fs/promises';
import { hasCode, UserError, withPath } from '../errors.ts';
import { ifPresent } from './if-present.ts';

/**
 * Linux's O_PATH, a flag that Node does not define. Opening with it reads nothing and does not touch a device or pipe.
 */
export const O_PATH = 0o10_000_000;
const readOnly = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
const readWrite = constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOCTTY;
const writeNew = readWrite | constants.O_CREAT | constants.O_EXCL;

/** Limit for a file of the node that a flag names, such as the configuration. */
export const maxNamedFileBytes = 10 * 1024 * 1024;

interface OpenOptions {
  /** If true, follows a link at the end of the path, such as a link to a log. By default, a link is rejected. */
  followLinks?: boolean;
}

/** Thrown for a path that is not a regular file. */
export class NotARegularFile extends UserError {}

/**
 * Opens a regular file for reading, without waiting for a writer. Rejects with `NotARegularFile` for every other kind
 * of file, and with the file system's error if there is none. The caller closes it.
 */
export function openRegularFile(path: string | Buffer, options: OpenOptions = {}): Promise<FileHandle> {
  return openAs(path, readOnly, options);
}

/**
 * Reads a whole regular file. Rejects like `openRegularFile`, and with a `UserError` if it is larger than `maxBytes`.
 */
export async function readRegularFile(
  path: string | Buffer,
  maxBytes: number,
  options: OpenOptions = {},
): Promise<Buffer> {
  const file = await openRegularFile(path, options);
  try {
    // One byte more than allowed, because a file may grow in the meantime and /proc reports size 0.
    const bytes = await readAt(file, 0, Math.min((await file.stat()).size, maxBytes) + 1, maxBytes + 1);
    if (bytes.length > maxBytes) throw new UserError(`${path.toString()} is larger than ${maxBytes} bytes`);
    return bytes;
  } finally {
    await file.close();
  }
}

/**
 * Reads the last `maxBytes` of a regular file. Resolves to undefined if it is missing. Rejects like `openRegularFile`.
 */
export async function readFileTail(path: string, maxBytes: number): Promise<Uint8Array | undefined> {
  const found = await ifPresent(lstat(path));
  if (found === undefined) return undefined;
  // Most files are empty, and this check takes one operation where reading takes six.
  if (found.isFile() && found.size === 0) return new Uint8Array();
  const file = await ifPresent(openRegularFile(path));
  if (file === undefined) return undefined;
  try {
    const { size } = await file.stat();
    const length = Math.min(size, maxBytes);
    return await readAt(file, size - length, length, length);
  } finally {
    await file.close();
  }
}

/**
 * Writes a file of ours in place, so that a container that has it mounted sees the new content. First removes a link,
 * named pipe or other entry in its place, without writing to it. If the disk is full, the old content stays. A kill
 * leaves the old or the new content, and perhaps blank lines after it. Rejects with the error of the file system, with
 * `mayCreate: false` also if the file is missing.
 */
export async function writeInPlace(
  path: string,
  content: string | Uint8Array,
  mode: number,
  { mayCreate = true } = {},
): Promise<void> {
  const bytes = Buffer.from(content);
  const file = mayCreate ? await openToWrite(path, mode) : await openAs(path, readWrite, {});
  try {
    const { size, mode: found } = await file.stat();
    if (!(await holds(file, size, bytes))) await replaceContent(file, size, bytes);
    // The umask limits the mode of a new file, but does not apply to chmod.
    if ((found & 0o7777) !== mode) await file.chmod(mode);
  } catch (error) {
    throw withPath(error, path);
  } finally {
    await file.close();
  }
}

async function holds(file: FileHandle, size: number, bytes: Buffer): Promise<boolean> {
  return size === bytes.length && (await readAt(file, 0, size, size)).equals(bytes);
}

/**
 * If the content grows, first allocates the additional space, with blank lines. If it shrinks, blank lines replace the
 * rest.
 */
async function replaceContent(file: FileHandle, size: number, bytes: Buffer): Promise<void> {
  try {
    await writeAt(file, size, blankLines(bytes.length - size));
  } catch (error) {
    await file.truncate(size);
    throw error;
  }
  await writeAt(file, 0, Buffer.concat([bytes, blankLines(size - bytes.length)]));
  await file.truncate(bytes.length);
}

const blankLines = (count: number): Buffer => Buffer.alloc(Math.max(0, count), '\n');

async function writeAt(file: FileHandle, position: number, bytes: Buffer): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
  }
}

/** Creates a file with exactly this mode. Rejects with EEXIST if the name exists. */
export async function writeNewFile(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  const file = await open(path, writeNew, mode);
  try {
    await file.writeFile(content);
    await file.chmod(mode);
  } catch (error) {
    throw withPath(error, path);
  } finally {
    await file.close();
  }
}

async function openToWrite(path: string, mode: number): Promise<FileHandle> {
  try {
    return await openAs(path, readWrite, {});
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

/** Reads from `start` to the end, but at most `maxBytes`. The first buffer has `expected` bytes. */
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
