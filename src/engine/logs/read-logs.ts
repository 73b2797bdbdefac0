/**
 * Reads one container's log, from its oldest rotated file. Following is a loop over one open file:
 * 1. Read to the end and write complete lines.
 * 2. Look for the next file: one of this log that has content (log rotation), or `<n+1>.log` (container restart) unless
 *    only one instance is wanted. The next file is written only after this file is complete, so this file is read to
 *    its end once more.
 * 3. Stop if the container has finished. Otherwise wait until the kernel reports a change in the directory.
 * At `lastCall` the loop stops, and the files that exist at that moment are read, each up to its size at that moment.
 * For example, 0.log is read, renamed to 0.log.20240506-070809, and read to its end. A new 0.log gets a line and is
 * read. Then 1.log appears.
 */
import { readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { hasCode } from '../../errors.ts';
import { listFolder } from '../../files/list-folder.ts';
import { ChangeWatch } from './change-watch.ts';
import { LogReader, type LogReaderOptions, type LogSink, openFailure } from './log-reader.ts';

export interface ReadLogsOptions extends LogReaderOptions {
  /** Begins this many lines before the end. A line in parts counts once per part. */
  tailLines?: number;
  /** With `tailLines`: searches only this many bytes at the end, and no compressed files. */
  tailBytes?: number;
  /** With `follow`: stops after the log at `path`, without the logs of later restarts. */
  oneInstance?: boolean;
  /** With `follow`: abort it when the container has finished. Its remaining output is still read. */
  finished?: AbortSignal;
}

/**
 * Passes the container's exact output to `sink`, with parts of a line joined. Resolves at the end of the log or at
 * `limitBytes`. With `follow`, resolves once the container has finished, or after `lastCall`. kubelet: cri-client
 * logs.go ReadLogs
 */
export async function readLogs(options: ReadLogsOptions, sink: LogSink): Promise<void> {
  const { path, follow = false, finished, lastCall, signal } = options;
  signal?.throwIfAborted();
  const log = new LogReader(options, sink);
  const changes = follow ? await watchLog(path) : undefined;
  const wake = (): void => changes?.wake();
  for (const ending of [finished, lastCall, signal]) ending?.addEventListener('abort', wake, { once: true });
  try {
    await log.open(path, options);
    if (changes === undefined) await readOnce(log);
    else await followLog(log, changes, options);
  } finally {
    for (const ending of [finished, lastCall, signal]) ending?.removeEventListener('abort', wake);
    changes?.close();
    await log.close();
  }
}

async function readOnce(log: LogReader): Promise<void> {
  while (!log.isFull && (await log.nextFile({ isFollowing: false }))) await log.readToEnd({ last: true });
}

async function followLog(log: LogReader, changes: ChangeWatch, options: ReadLogsOptions): Promise<void> {
  await log.nextFile({ isFollowing: false });
  changes.entriesChanged = true;
  for (;;) {
    options.signal?.throwIfAborted();
    const isFinished = options.finished?.aborted === true;
    await log.readToEnd();
    if (log.isFull) return;
    if (options.lastCall?.aborted === true) {
      await readRest(log, options);
      return;
    }
    const found = await nextFile(log, changes, { ...options, isFinished });
    if (found === 'next') {
      changes.entriesChanged = true;
      continue;
    }
    if (isFinished || found === 'gone') {
      await log.readToEnd({ last: true });
      return;
    }
    await changes.next();
  }
}

/** Reads what the log has now, then the logs of the later instances that exist now. */
async function readRest(log: LogReader, { oneInstance = false }: ReadLogsOptions): Promise<void> {
  const directory = dirname(log.path);
  const later = oneInstance ? [] : laterAttempts(basename(log.path), await listFolder(directory));
  await log.stopFollowing();
  await log.readToEnd({ last: true });
  await readOnce(log);
  for (const name of later) {
    if (log.isFull) return;
    await log.open(join(directory, name));
    await readOnce(log);
  }
}

/** Watches the directory of the log and, if the log is a link as with cri-dockerd, the directory of its target. */
async function watchLog(path: string): Promise<ChangeWatch> {
  // The log is missing while it is rotated.
  const target = await realpath(path).catch(() => path);
  try {
    return new ChangeWatch(new Set([dirname(path), dirname(target)]));
  } catch (error) {
    throw openFailure(path, error);
  }
}

/** Moves to the next file if there is one. `gone` means that the directory of the log was removed. */
async function nextFile(
  log: LogReader,
  changes: ChangeWatch,
  { oneInstance = false, isFinished }: Pick<ReadLogsOptions, 'oneInstance'> & { isFinished: boolean },
): Promise<'next' | 'none' | 'gone'> {
  if (!changes.entriesChanged && !isFinished && !(await log.isReplaced())) return 'none';
  changes.entriesChanged = false;
  if (await log.nextFile({ isFollowing: true })) return 'next';
  const directory = dirname(log.path);
  try {
    const [next] = laterAttempts(basename(log.path), await readdir(directory));
    if (next === undefined || oneInstance) return 'none';
    await log.readToEnd({ last: true });
    await log.open(join(directory, next));
    return (await log.nextFile({ isFollowing: false })) ? 'next' : 'none';
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    return 'gone';
  }
}

/** Returns the logs of restarts after `current`, in order. Rotated files also show that a log exists. */
function laterAttempts(current: string, names: readonly string[]): string[] {
  const attemptOf = (name: string): number => Number(/^(\d+)\.log(?:\.|$)/.exec(name)?.[1] ?? NaN);
  const later = new Set(names.map(attemptOf).filter((attempt) => attempt > attemptOf(current)));
  return [...later].sort((a, b) => a - b).map((attempt) => `${String(attempt)}.log`);
}
