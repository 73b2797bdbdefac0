import { link, lstat, rename, rm, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { getSystemErrorMap } from 'node:util';
import { errorMessage, hasCode, isSystemError } from '../../errors.ts';
import { OpenFolder } from '../host/open-folder.ts';
import { compressLog } from './compress-log.ts';
import { computeLogTidying, isTemporary, nextRotatedName } from './rotated-names.ts';

/**
 * Makes room among the rotated files of a log, and compresses them. Resolves with the reason if not all could be
 * compressed. The next rotation retries. kubelet: logs/container_log_manager.go rotateLog
 */
export async function tidyRotatedLogs(
  path: string,
  maxFiles: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const log = basename(path);
  return inFolder(path, async (folder) => {
    const compress = await removeExcess(folder, log, maxFiles);
    try {
      for (const name of compress) await compressLog(folder, name, signal);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      return `cannot compress the rotated files of ${path}: ${reasonOf(error)}`;
    }
  });
}

/** Makes room among the rotated files of a log, without compressing any. */
export async function removeExcessLogs(path: string, maxFiles: number): Promise<void> {
  await inFolder(path, (folder) => removeExcess(folder, basename(path), maxFiles));
}

/** Resolves with the names of the files to compress. */
async function removeExcess(folder: OpenFolder, log: string, maxFiles: number): Promise<string[]> {
  const { remove, compress } = computeLogTidying(log, await rotatedFiles(folder, log), maxFiles);
  for (const name of remove) await rm(folder.at(name), { force: true });
  return compress;
}

/**
 * Renames a log to its rotated name, so that the runtime begins a new one when `reopen` is called. If `reopen` fails,
 * undoes the rename and rejects. `now` is in milliseconds since the epoch. kubelet: logs/container_log_manager.go
 * rotateLatestLog
 */
export async function rotateLog(path: string, now: number, reopen: () => Promise<unknown>): Promise<void> {
  const log = basename(path);
  const rotated = await inFolder(path, async (folder) => {
    const name = nextRotatedName(log, await namesOf(folder, log), now);
    await rename(folder.at(log), folder.at(name));
    return name;
  });
  try {
    await reopen();
  } catch (error) {
    // The folder does not exist if the pod was removed in the meantime.
    const isUndone = await inFolder(path, (folder) => undo(folder, rotated, log)).catch(() => true);
    if (isUndone) throw error;
  }
}

/**
 * Gives the log its old name back. Resolves with false if there is a new log, because the runtime did reopen it
 * although its answer was lost. Uses a hard link, because a rename would destroy the new log.
 */
async function undo(folder: OpenFolder, rotated: string, log: string): Promise<boolean> {
  try {
    await link(folder.at(rotated), folder.at(log));
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    // The file system does not support hard links.
    await rename(folder.at(rotated), folder.at(log));
    return true;
  }
  await unlink(folder.at(rotated));
  return true;
}

/** Returns the names of the regular files of a rotated log, and of anything that has the name of a temporary file. */
async function rotatedFiles(folder: OpenFolder, log: string): Promise<string[]> {
  const written = await lstat(folder.at(log));
  const files: string[] = [];
  for (const name of await namesOf(folder, log)) {
    const stats = await lstat(folder.at(name));
    // This is a second name of the log itself, left by an interrupted undo.
    if (stats.ino === written.ino) await rm(folder.at(name), { force: true });
    else if (stats.isFile() || (isTemporary(name) && !stats.isDirectory())) files.push(name);
  }
  return files;
}

async function namesOf(folder: OpenFolder, log: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of folder.entries()) if (name.startsWith(`${log}.`)) names.push(name);
  return names;
}

/** Errors name the log, because its open folder has a new path each time. */
async function inFolder<T>(path: string, act: (folder: OpenFolder) => Promise<T>): Promise<T> {
  let folder;
  try {
    folder = await OpenFolder.open(dirname(path));
    return await act(folder);
  } catch (error) {
    throw isSystemError(error) ? new Error(`cannot rotate ${path}: ${reasonOf(error)}`, { cause: error }) : error;
  } finally {
    await folder?.close();
  }
}

function reasonOf(error: unknown): string {
  if (!isSystemError(error)) return errorMessage(error);
  const { code, errno = 0 } = error;
  return getSystemErrorMap().get(errno)?.[1] ?? code;
}
