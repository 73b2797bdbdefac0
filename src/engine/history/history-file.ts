import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PodName } from '../../api/values/pod-names.ts';
import { hasCode } from '../../errors.ts';
import type { ObjectRef } from '../view/events.ts';
import { ifPresent } from '../../files/if-present.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { makeFolder } from '../../files/make-folder.ts';

/** By default, if a file would grow beyond this, it is renamed to become the older half, and a new file starts. */
const maxFileBytes = 32 * 1024;
/** A single write may exceed `maxFileBytes`, but never this. */
const maxReadBytes = 8 * 1024 * 1024;
/** Leaves room for the suffix within the 255 bytes of a file name. */
const maxStemBytes = 200;

/** Opens for reading too. O_NONBLOCK keeps it from waiting if a named pipe has this path. */
const appendFlags =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const syncFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Returns the folder with the histories of this root-dir's pods. */
export function historyFolder(rootDir: string): string {
  return join(rootDir, 'state', 'history');
}

/** Returns the path of a pod's history file, which has all its revisions. */
export function historyPath(folder: string, { namespace, name }: { namespace: string; name: string }): string {
  const stem = `${namespace}_${name}`;
  if (stem.length <= maxStemBytes) return join(folder, `${stem}.jsonl`);
  const hash = createHash('sha256').update(stem).digest('hex').slice(0, 16);
  return join(folder, `${stem.slice(0, maxStemBytes - hash.length - 1)}-${hash}.jsonl`);
}

/**
 * Returns the name under which the events of a workload or a Service are recorded, such as `Job.web`. No pod has it,
 * because it begins with a capital letter.
 */
export function objectHistory({ kind, namespace, name }: ObjectRef): PodName {
  return { namespace, name: `${kind}.${name}` };
}

/** True for a name from `objectHistory`. */
export const isObjectHistory = ({ name }: PodName): boolean => /^[A-Z]/.test(name);

/**
 * Returns the pod of a history file, or a name from `objectHistory`. Returns undefined if the name of the file does not
 * tell.
 */
export function ownerOfHistoryFile(file: string): PodName | undefined {
  // Longer names are truncated to this length.
  if (file.length >= maxStemBytes + '.jsonl'.length) return undefined;
  // Namespaces and names contain no underscore.
  const [, namespace, name] = /^([^_]+)_([^_]+)\.jsonl$/.exec(file) ?? [];
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}

/** Reads the older half, then the newer one. Empty if there is no file. Rejects with the file system's error. */
export async function readHistory(path: string): Promise<string> {
  const [older, newer] = await Promise.all([readOrEmpty(olderHalf(path)), readOrEmpty(path)]);
  return `${older}\n${newer}`;
}

/**
 * Appends whole lines. If a power loss or a full disk cut the last line short, first terminates it, so that only this
 * line is lost. If the file becomes too long, starts a new one with `carried`. The lines survive a crash of this
 * process, and after `syncHistory` also a power loss. Rejects with the file system's error.
 */
export async function appendHistory(
  path: string,
  lines: string,
  carried: () => string,
  maxBytes: number = maxFileBytes,
): Promise<void> {
  let file = await openToAppend(path);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new Error(`${path} is not a regular file`);
    let { size } = stats;
    let text = `${(await isTorn(file, size)) ? '\n' : ''}${lines}`;
    if (size > 0 && size + Buffer.byteLength(text) > maxBytes) {
      await rename(path, olderHalf(path));
      await file.close();
      file = await openToAppend(path);
      size = 0;
      text = carried() + lines;
    }
    await appendWhole(file, size, text);
  } finally {
    await file.close();
  }
}

/** Resolves once the newer file is on disk, or was removed. Rejects with the file system's error. */
export async function syncHistory(path: string): Promise<void> {
  const file = await ifPresent(open(path, syncFlags));
  if (file === undefined) return;
  try {
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** Returns the path of the older half. */
export function olderHalf(path: string): string {
  return `${path}.1`;
}

/** Appends all of the text or nothing. */
async function appendWhole(file: FileHandle, size: number, text: string): Promise<void> {
  try {
    await file.appendFile(text);
  } catch (error) {
    await file.truncate(size);
    throw error;
  }
}

/** Creates the folder if it is missing. */
async function openToAppend(path: string): Promise<FileHandle> {
  try {
    return await open(path, appendFlags, 0o600);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    await makeFolder(dirname(path), 0o700);
    return open(path, appendFlags, 0o600);
  }
}

async function isTorn(file: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false;
  const { buffer } = await file.read({ buffer: Buffer.alloc(1), position: size - 1 });
  return buffer.toString('latin1') !== '\n';
}

async function readOrEmpty(path: string): Promise<string> {
  return (await ifPresent(readRegularFile(path, maxReadBytes)))?.toString('utf8') ?? '';
}
