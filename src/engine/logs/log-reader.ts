import { hasCode, UserError } from '../../errors.ts';
import { DamagedLog, type LogFile } from './log-file.ts';
import { LogFormatter, type LogFormatOptions } from './log-formatter.ts';
import { parseLogLine, type LogFormat } from './log-line.ts';
import { LogTrail } from './log-trail.ts';

export interface LogReaderOptions extends LogFormatOptions {
  /** Log of one attempt of the container: `ContainerStatus.logPath`. Its rotated files are read before it. */
  path: string;
  /** Continues with later output, across log rotations and restarts of the container. */
  follow?: boolean;
  /**
   * With `follow`: abort it to stop after the output so far, because the container may write faster than `sink` can
   * accept.
   */
  lastCall?: AbortSignal;
  /** Abort it to stop at once. `readLogs` then rejects with its reason. */
  signal?: AbortSignal;
  /** Called with a sentence about each skipped part of the log. */
  onProblem?: (message: string) => void;
}

/** Thrown if the first line of a log matches no format. */
export class UnknownLogFormat extends UserError {
  /** With its line end. */
  readonly line: Buffer;

  constructor(path: string, line: Buffer) {
    super(`${path}: the first line is neither in CRI nor in Docker JSON log format`);
    this.line = line;
  }
}

/** Thrown if the file does not exist. */
export class MissingLog extends UserError {
  readonly path: string;

  constructor(path: string, cause: unknown) {
    super(`the log file ${path} does not exist`, {
      hint: 'The container has not started yet, its log was removed, or its runtime does not write logs to files.',
      cause,
    });
    this.path = path;
  }
}

/** Receives a piece of the log. The next call waits for the returned promise. */
export type LogSink = (bytes: Buffer, stream: 'stdout' | 'stderr') => Promise<void>;

/**
 * Longest entry. A runtime cuts output into entries of 16 KiB, so only a forged log has a longer one. The rest of it is
 * skipped.
 */
const maxEntryBytes = 1024 * 1024;
const newline = 0x0a;

/** Reads one log file at a time, and keeps formatting state across files. */
export class LogReader {
  private readonly formatter: LogFormatter;
  private trail: LogTrail | undefined;
  /** The trail that was followed until the last call. It keeps the file open. */
  private followedTrail: LogTrail | undefined;
  private isFollowing = false;
  private file: LogFile | undefined;
  /** How many bytes of the file are left to read. */
  private bytesLeft = Infinity;
  /** How many bytes of the file were read, without those before a tail. */
  private bytesRead = 0;
  private linesLeft = Infinity;
  private format: LogFormat | undefined;
  /** The beginning of an incomplete line. */
  private incomplete: Buffer = Buffer.alloc(0);
  private output: { stream: 'stdout' | 'stderr'; parts: Buffer[] }[] = [];

  constructor(
    private readonly options: LogReaderOptions,
    private readonly sink: LogSink,
  ) {
    this.formatter = new LogFormatter(options);
  }

  get path(): string {
    return this.trail?.path ?? this.options.path;
  }

  get isFull(): boolean {
    return this.formatter.isFull || this.linesLeft === 0;
  }

  /** Opens the log of another instance. */
  async open(path: string, tail: { tailLines?: number; tailBytes?: number } = {}): Promise<void> {
    await this.close();
    this.format = undefined;
    const { follow = false, lastCall } = this.options;
    this.isFollowing = follow && lastCall?.aborted !== true;
    this.trail = await LogTrail.open(path, tail).catch((error: unknown) => {
      throw openFailure(path, error);
    });
    // Without `follow`, skips lines that are written while the tail is read.
    this.linesLeft = tail.tailLines === undefined || this.isFollowing ? Infinity : tail.tailLines;
  }

  async close(): Promise<void> {
    await this.trail?.close();
    await this.followedTrail?.close();
    this.trail = undefined;
    this.followedTrail = undefined;
    this.file = undefined;
  }

  /** From now on, ignores what is written or rotated later: what the log has now is all that is read. */
  async stopFollowing(): Promise<void> {
    const file = this.file;
    if (file === undefined) return;
    if (!file.isCompressed) this.bytesLeft = (await file.file.stat()).size - this.bytesRead;
    const rest = await trailAfter(this.path, file).catch((error: unknown) => {
      // The log was deleted and does not grow any more. Its open files can still be read.
      if (hasCode(error, 'ENOENT')) return undefined;
      throw error;
    });
    if (rest === undefined) return;
    this.isFollowing = false;
    this.followedTrail = this.trail;
    this.trail = rest;
  }

  /** Reads the rest of this file, then opens the next one. Resolves with false if no next file exists. */
  async nextFile({ isFollowing }: { isFollowing: boolean }): Promise<boolean> {
    const previous = this.file;
    const next = await this.trail?.next({ isFollowing });
    if (next === undefined) return false;
    if (previous !== undefined) {
      await this.readToEnd({ last: true });
      await previous.close();
    }
    this.file = next;
    this.bytesRead = 0;
    this.bytesLeft = isFollowing || this.isFollowing ? Infinity : (this.trail?.sizeAtOpening ?? Infinity);
    return true;
  }

  /** True if the path is now a different, non-empty file. */
  async isReplaced(): Promise<boolean> {
    return (await this.trail?.isReplaced()) === true;
  }

  /**
   * Writes every complete line up to the end of the file, or until the last call. With `last`, also writes the text
   * after the last newline; the file must not grow then.
   */
  async readToEnd({ last = false } = {}): Promise<void> {
    while (!this.isFull && (last || this.options.lastCall?.aborted !== true)) {
      this.options.signal?.throwIfAborted();
      const bytes = await this.readBlock();
      if (bytes.length === 0) break;
      this.takeLines(bytes);
      await this.flush();
    }
    if (!last || this.isFull || this.incomplete.length === 0) return;
    const line = this.incomplete;
    this.incomplete = Buffer.alloc(0);
    this.takeLine(line);
    await this.flush();
  }

  private async readBlock(): Promise<Buffer> {
    if (this.file === undefined || this.bytesLeft <= 0) return Buffer.alloc(0);
    try {
      const block = await this.file.read(() => {
        this.incomplete = Buffer.alloc(0);
        this.bytesRead = 0;
      });
      const bytes = block.subarray(0, this.bytesLeft);
      this.bytesRead += bytes.length;
      this.bytesLeft -= bytes.length;
      return bytes;
    } catch (error) {
      if (!(error instanceof DamagedLog)) throw error;
      this.options.onProblem?.(`${this.file.path} is damaged, the rest of it is left out: ${error.message}`);
      this.bytesLeft = 0;
      this.incomplete = Buffer.alloc(0);
      return Buffer.alloc(0);
    }
  }

  private takeLines(bytes: Buffer): void {
    let start = 0;
    for (let end = bytes.indexOf(newline); end >= 0 && !this.isFull; end = bytes.indexOf(newline, start)) {
      const rest = bytes.subarray(start, end + 1);
      this.takeLine(this.incomplete.length === 0 ? rest : Buffer.concat([this.incomplete, rest]));
      this.incomplete = Buffer.alloc(0);
      start = end + 1;
    }
    const rest = bytes.subarray(start, start + maxEntryBytes - this.incomplete.length);
    if (rest.length > 0) this.incomplete = Buffer.concat([this.incomplete, rest]);
  }

  private takeLine(line: Buffer): void {
    const file = this.file;
    if (file !== undefined && file.linesToSkip > 0) {
      file.linesToSkip -= 1;
      return;
    }
    const parsed = parseLogLine(line, this.format);
    if (parsed === undefined) {
      // The first line decides the format. Later damaged lines, and those of rotated files, are skipped.
      if (this.format !== undefined || file?.path !== this.path) return;
      throw new UnknownLogFormat(this.path, line);
    }
    this.format = parsed.format;
    this.linesLeft -= 1;
    const bytes = this.formatter.format(parsed);
    if (bytes.length === 0) return;
    const stream = parsed.stream === 'stderr' ? 'stderr' : 'stdout';
    const latest = this.output.at(-1);
    if (latest?.stream === stream) latest.parts.push(bytes);
    else this.output.push({ stream, parts: [bytes] });
  }

  private async flush(): Promise<void> {
    const output = this.output;
    this.output = [];
    // Copies first, because the block is reused for the next read.
    for (const { bytes, stream } of output.map((run) => ({ bytes: Buffer.concat(run.parts), stream: run.stream }))) {
      await this.sink(bytes, stream);
    }
  }
}

/** Opens the trail of a log after this file. If the file was deleted, opens the whole trail. */
async function trailAfter(path: string, file: LogFile): Promise<LogTrail> {
  const trail = await LogTrail.open(path);
  let isFound = false;
  try {
    isFound = await skipTo(trail, file);
  } finally {
    if (!isFound) await trail.close();
  }
  return isFound ? trail : LogTrail.open(path);
}

/** Skips to this file. Resolves with false if the trail does not have it. */
async function skipTo(trail: LogTrail, file: LogFile): Promise<boolean> {
  for (;;) {
    const next = await trail.next({ isFollowing: false });
    if (next === undefined) return false;
    const isFound = await file.isSameLog(next);
    await next.close();
    if (isFound) return true;
  }
}

/** Returns what to throw if a log cannot be opened. */
export function openFailure(path: string, error: unknown): unknown {
  return hasCode(error, 'ENOENT') ? new MissingLog(path, error) : error;
}
