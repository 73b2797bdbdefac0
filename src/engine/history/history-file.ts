import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasCode } from '../../errors.ts';
import { readRegularFile } from '../host/regular-file.ts';
import { makeFolder } from '../../make-folder.ts';

/** A file that would be longer gives way to a new one, and takes the place of the one before it. */
const maxFileBytes = 32 * 1024;
/** One write may go beyond that, no file of ours goes beyond this. */
const maxReadBytes = 8 * 1024 * 1024;
/** Leaves room for the ending below the 255 bytes that a name may have. */
const maxStemBytes = 200;

/** To read it too; a named pipe in its place is not waited for. */
const appendFlags =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Where the history of the pods of this root-dir is. */
export function historyFolder(rootDir: string): string {
  return join(rootDir, 'state', 'history');
}

/** The file of one pod, over all of its revisions. */
export function historyPath(folder: string, { namespace, name }: { namespace: string; name: string }): string {
  const stem = `${namespace}_${name}`;
  if (stem.length <= maxStemBytes) return join(folder, `${stem}.jsonl`);
  const hash = createHash('sha256').update(stem).digest('hex').slice(0, 16);
  return join(folder, `${stem.slice(0, maxStemBytes - hash.length - 1)}-${hash}.jsonl`);
}

/** Of which pod a file of the folder is; undefined: it is none that tells. */
export function podOfHistoryFile(file: string): { namespace: string; name: string } | undefined {
  // Neither a namespace nor a name has an underscore.
  const [, namespace, name] = /^([^_]+)_([^_]+)\.jsonl$/.exec(file) ?? [];
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}

/** The older half first; empty when there is none. Rejects with the error of the file system. */
export async function readHistory(path: string): Promise<string> {
  const [older, newer] = await Promise.all([readOrEmpty(olderHalf(path)), readOrEmpty(path)]);
  return `${older}\n${newer}`;
}

/**
 * Appends whole lines. A line that was cut short before, by power loss or a full disk, is ended first, so that it costs none
 * but itself. When the file has become too long, a new one begins with `carried`. `isToLast`: it is on the disk when this
 * resolves. Rejects with the error of the file system.
 */
export async function appendHistory(
  path: string,
  lines: string,
  { carried, isToLast }: { carried: () => string; isToLast: boolean },
): Promise<void> {
  await makeFolder(dirname(path), 0o700);
  let file = await openToAppend(path);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new Error(`${path} is not a regular file`);
    const { size } = stats;
    let text = `${(await isTorn(file, size)) ? '\n' : ''}${lines}`;
    if (size > 0 && size + Buffer.byteLength(text) > maxFileBytes) {
      await rename(path, olderHalf(path));
      await file.close();
      file = await openToAppend(path);
      text = carried() + lines;
    }
    await file.appendFile(text);
    if (isToLast) await file.datasync();
  } finally {
    await file.close();
  }
}

/** The name of the file that a new one took the place of. */
export function olderHalf(path: string): string {
  return `${path}.1`;
}

function openToAppend(path: string): Promise<FileHandle> {
  return open(path, appendFlags, 0o600);
}

async function isTorn(file: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false;
  const { buffer } = await file.read({ buffer: Buffer.alloc(1), position: size - 1 });
  return buffer.toString('latin1') !== '\n';
}

async function readOrEmpty(path: string): Promise<string> {
  try {
    return (await readRegularFile(path, maxReadBytes)).toString('utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return '';
    throw error;
  }
}
