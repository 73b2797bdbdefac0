/**
 * Reads one container's log. Following is a loop over one open file:
 * 1. Read to the end and write whole lines.
 * 2. Look for the next file: a new, non-empty file of the same name (log rotation), or `<n+1>.log` (container restart).
 *    Its first write comes after the last write to this file, so this file is read to its end once more.
 * 3. Stop if the container has finished. Else wait until the kernel reports a change in the directory.
 * For example, 0.log is read, renamed to 0.log.20240506-070809 and read on. A new 0.log gets a line and is read. Then
 * 1.log appears.
 */
import { readdir, realpath, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { UserError, hasCode } from '../../errors.ts';
import { openRegularFile } from '../host/regular-file.ts';
import { ChangeWatch } from './change-watch.ts';
import { findTailOffset } from './find-tail-offset.ts';
import { LogFormatter, type LogFormatOptions } from './log-formatter.ts';
import { parseLogLine, type LogFormat } from './log-line.ts';

export interface ReadLogsOptions extends LogFormatOptions {
  /** Log file of one attempt of the container: `ContainerStatus.logPath`. Earlier rotated files are not read. */
  path: string;
  /** Begins with this many last lines of the file. A line in parts counts once a part. */
  tailLines?: number;
  /** With `tailLines`: searches only this many bytes at the end. */
  tailBytes?: number;
  /** Continues with later output, across rotations and restarts of the container. */
  follow?: boolean;
  /** With `follow`: aborted when the container has finished. Its remaining output is still read. */
  finished?: AbortSignal;
  /** Ends the reading at once. `readLogs` rejects with its reason. */
  signal?: AbortSignal;
}

/** Takes a piece of the log. The next call waits for the returned promise. */
export type LogSink = (bytes: Buffer, stream: 'stdout' | 'stderr') => Promise<void>;

const blockBytes = 64 * 1024;
/**
 * Longest entry. A runtime cuts output into entries of 16 KiB, so only a forged log has a longer one. The rest of it is
 * left out.
 */
const maxEntryBytes = 1024 * 1024;
const newline = 0x0a;

/**
 * Passes the container's exact output to `sink`, with parts of a line joined. Resolves at the end of the file or at
 * `limitBytes`; with `follow`, when the container has finished. kubelet: cri-client logs.go ReadLogs
 */
export async function readLogs(options: ReadLogsOptions, sink: LogSink): Promise<void> {
  const { follow = false, finished, signal } = options;
  signal?.throwIfAborted();
  const log = new LogReader(options, sink);
  const changes = follow ? await watchLog(options.path) : undefined;
  const wake = (): void => changes?.wake();
  finished?.addEventListener('abort', wake, { once: true });
  signal?.addEventListener('abort', wake, { once: true });
  try {
    await log.open(options.path, options);
    if (changes === undefined) await log.readToEnd({ last: true });
    else await followLog(log, changes, options);
  } finally {
    finished?.removeEventListener('abort', wake);
    signal?.removeEventListener('abort', wake);
    changes?.close();
    await log.close();
  }
}

async function followLog(log: LogReader, changes: ChangeWatch, options: ReadLogsOptions): Promise<void> {
  changes.entriesChanged = true;
  for (;;) {
    options.signal?.throwIfAborted();
    const isFinished = options.finished?.aborted === true;
    await log.readToEnd();
    if (log.isFull) return;
    const next = await nextFile(log, changes, isFinished);
    if (next.path !== undefined) {
      await log.readToEnd({ last: true });
      await log.open(next.path);
      changes.entriesChanged = true;
      continue;
    }
    if (isFinished || next.directoryGone) {
      await log.readToEnd({ last: true });
      return;
    }
    await changes.next();
  }
}

/** Watches the directory of the log and, if the log is a link as with cri-dockerd, the directory of its target. */
async function watchLog(path: string): Promise<ChangeWatch> {
  const target = await realpath(path).catch((error: unknown) => {
    throw openFailure(path, error);
  });
  return new ChangeWatch(new Set([dirname(path), dirname(target)]));
}

async function nextFile(
  log: LogReader,
  changes: ChangeWatch,
  isFinished: boolean,
): Promise<{ path?: string; directoryGone: boolean }> {
  if (await log.isReplaced()) return { path: log.path, directoryGone: false };
  if (!changes.entriesChanged && !isFinished) return { directoryGone: false };
  changes.entriesChanged = false;
  const directory = dirname(log.path);
  try {
    const next = nextAttempt(basename(log.path), await readdir(directory));
    return next === undefined ? { directoryGone: false } : { path: join(directory, next), directoryGone: false };
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    return { directoryGone: true };
  }
}

/** The log in `names` of the first restart after `current`. */
function nextAttempt(current: string, names: readonly string[]): string | undefined {
  const attemptOf = (name: string): number => Number(/^(\d+)\.log$/.exec(name)?.[1] ?? NaN);
  const later = names.map(attemptOf).filter((attempt) => attempt > attemptOf(current));
  return later.length === 0 ? undefined : `${String(Math.min(...later))}.log`;
}

/** Reads one log file at a time, and keeps formatting state across files. */
class LogReader {
  readonly #formatter: LogFormatter;
  readonly #sink: LogSink;
  readonly #signal: AbortSignal | undefined;
  readonly #follow: boolean;
  readonly #block = Buffer.allocUnsafe(blockBytes);
  path = '';
  #file: FileHandle | undefined;
  #position = 0;
  #linesLeft = Infinity;
  #format: LogFormat | undefined;
  /** The start of a line that is not complete yet. */
  #incomplete: Buffer = Buffer.alloc(0);
  #output: { stream: 'stdout' | 'stderr'; parts: Buffer[] }[] = [];

  constructor(options: ReadLogsOptions, sink: LogSink) {
    this.#formatter = new LogFormatter(options);
    this.#sink = sink;
    this.#signal = options.signal;
    this.#follow = options.follow ?? false;
  }

  get isFull(): boolean {
    return this.#formatter.isFull || this.#linesLeft === 0;
  }

  async open(
    path: string,
    { tailLines, tailBytes }: Pick<ReadLogsOptions, 'tailLines' | 'tailBytes'> = {},
  ): Promise<void> {
    await this.close();
    this.path = path;
    this.#format = undefined;
    // cri-dockerd makes logs links.
    this.#file = await openRegularFile(path, { followLinks: true }).catch((error: unknown) => {
      throw openFailure(path, error);
    });
    this.#position = tailLines === undefined ? 0 : await findTailOffset(this.#file, tailLines, tailBytes);
    // Without `follow`, lines written while the tail is read are left out.
    this.#linesLeft = tailLines === undefined || this.#follow ? Infinity : tailLines;
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  /** True if `path` is now another, non-empty file. */
  async isReplaced(): Promise<boolean> {
    try {
      const [named, opened] = await Promise.all([stat(this.path), this.#file?.stat()]);
      return named.size > 0 && (named.ino !== opened?.ino || named.dev !== opened.dev);
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return false;
      throw error;
    }
  }

  /** Writes every whole line up to the end of the file. With `last` also the text after the last newline. */
  async readToEnd({ last = false } = {}): Promise<void> {
    while (!this.isFull) {
      this.#signal?.throwIfAborted();
      const bytes = await this.#readBlock();
      if (bytes.length === 0) break;
      this.#takeLines(bytes);
      await this.#flush();
    }
    if (!last || this.isFull || this.#incomplete.length === 0) return;
    const line = this.#incomplete;
    this.#incomplete = Buffer.alloc(0);
    this.#takeLine(line);
    await this.#flush();
  }

  async #readBlock(): Promise<Buffer> {
    if (this.#file === undefined) return Buffer.alloc(0);
    const { bytesRead } = await this.#file.read(this.#block, 0, blockBytes, this.#position);
    this.#position += bytesRead;
    if (bytesRead === 0 && (await this.#file.stat()).size < this.#position) {
      // Truncated in place, as by logrotate's `copytruncate`: starts again.
      this.#position = 0;
      this.#incomplete = Buffer.alloc(0);
      return this.#readBlock();
    }
    return this.#block.subarray(0, bytesRead);
  }

  #takeLines(bytes: Buffer): void {
    let start = 0;
    for (let end = bytes.indexOf(newline); end >= 0 && !this.isFull; end = bytes.indexOf(newline, start)) {
      const rest = bytes.subarray(start, end + 1);
      this.#takeLine(this.#incomplete.length === 0 ? rest : Buffer.concat([this.#incomplete, rest]));
      this.#incomplete = Buffer.alloc(0);
      start = end + 1;
    }
    const rest = bytes.subarray(start, start + maxEntryBytes - this.#incomplete.length);
    this.#incomplete = Buffer.concat([this.#incomplete, rest]);
  }

  #takeLine(line: Buffer): void {
    this.#linesLeft -= 1;
    const parsed = parseLogLine(line, this.#format);
    if (parsed === undefined) {
      // The first line decides the format. Later damaged lines are left out.
      if (this.#format !== undefined) return;
      throw new UserError(`${this.path}: the first line is neither in CRI nor in Docker JSON log format`);
    }
    this.#format = parsed.format;
    const bytes = this.#formatter.format(parsed);
    if (bytes.length === 0) return;
    const stream = parsed.stream === 'stderr' ? 'stderr' : 'stdout';
    const latest = this.#output.at(-1);
    if (latest?.stream === stream) latest.parts.push(bytes);
    else this.#output.push({ stream, parts: [bytes] });
  }

  async #flush(): Promise<void> {
    const output = this.#output;
    this.#output = [];
    // Copied first, because the block is reused for the next read.
    for (const { bytes, stream } of output.map((run) => ({ bytes: Buffer.concat(run.parts), stream: run.stream }))) {
      await this.#sink(bytes, stream);
    }
  }
}

function openFailure(path: string, error: unknown): unknown {
  if (!hasCode(error, 'ENOENT')) return error;
  return new UserError(`the log file ${path} does not exist`, {
    hint: 'The container has not started yet, its log was removed, or its runtime does not write logs to files.',
    cause: error,
  });
}
