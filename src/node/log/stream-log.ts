/**
 * The log on a pipe, a socket or a terminal. Its reader may stop: a paused `less`, Ctrl-S, a stopped `tee`.
 *
 * INVARIANTS:
 * - No write waits for the reader, except when the process exits, and then only briefly. Writes to a terminal that this
 * process may not reopen do wait, because Node has no other way to write to it without blocking.
 */
import { constants, openSync, writeSync } from 'node:fs';
import { hasCode } from '../../errors.ts';

/** Milliseconds until a reader that did not read is tried again. */
const retryMs = 100;
/** Maximum wait for a reader that reads nothing when the process exits, in milliseconds. */
const quietEndMs = 2000;
/** Maximum wait for a slow reader when the process exits, in milliseconds. */
const endMs = 10_000;
/** Milliseconds between two attempts when the process exits. */
const endRetryMs = 10;

interface Options {
  fd: number;
  /** Limit on unwritten bytes. */
  maxBytes: number;
  /** Called with the number of dropped lines, as soon as all lines before them are written. */
  onDropped: (lines: number) => void;
}

/** Lines for a reader. If the reader does not read, keeps lines up to a limit and drops the next ones. */
export class StreamLog {
  private readonly fd: number;
  private unwritten: Buffer[] = [];
  private unwrittenBytes = 0;
  private dropped = 0;
  private retry: NodeJS.Timeout | undefined;

  constructor(private readonly options: Options) {
    this.fd = openWithoutWaits(options.fd);
    process.once('exit', () => {
      this.finish();
    });
  }

  write(text: string): void {
    const line = Buffer.from(text);
    if (this.dropped > 0 || this.unwrittenBytes + line.length > this.options.maxBytes) {
      this.dropped += 1;
      return;
    }
    this.unwritten.push(line);
    this.unwrittenBytes += line.length;
    if (this.retry === undefined) this.flush();
  }

  /** Writes what the reader currently accepts. Returns true if nothing remains. */
  flush(): boolean {
    for (let [line] = this.unwritten; line !== undefined; [line] = this.unwritten) {
      const bytes = this.writeSome(line);
      this.unwrittenBytes -= bytes;
      if (bytes === line.length) this.unwritten.shift();
      else if (bytes > 0) this.unwritten[0] = line.subarray(bytes);
      else return this.tryLater();
    }
    clearTimeout(this.retry);
    this.retry = undefined;
    if (this.dropped > 0) this.reportDropped();
    return this.unwritten.length === 0;
  }

  /** Returns 0 if the reader does not read. A line for a closed reader counts as written. */
  private writeSome(line: Buffer): number {
    try {
      return writeSync(this.fd, line);
    } catch (error) {
      return hasCode(error, 'EAGAIN') ? 0 : line.length;
    }
  }

  private tryLater(): false {
    this.retry ??= setTimeout(() => {
      this.retry = undefined;
      this.flush();
    }, retryMs).unref();
    return false;
  }

  /** The report is also a line. */
  private reportDropped(): void {
    const lines = this.dropped;
    this.dropped = 0;
    this.options.onDropped(lines);
  }

  private finish(): void {
    const nobodyWakes = new Int32Array(new SharedArrayBuffer(4));
    const endsAt = performance.now() + endMs;
    let [left, quietEndsAt] = [this.unwrittenBytes, performance.now() + quietEndMs];
    while (!this.flush() && performance.now() < Math.min(endsAt, quietEndsAt)) {
      if (this.unwrittenBytes < left) [left, quietEndsAt] = [this.unwrittenBytes, performance.now() + quietEndMs];
      Atomics.wait(nobodyWakes, 0, 0, endRetryMs);
    }
  }
}

/**
 * A descriptor of the same pipe or terminal that never blocks. Setting O_NONBLOCK on the given one would also affect
 * the shell and all its programs, so the file is reopened.
 */
function openWithoutWaits(fd: number): number {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
  try {
    return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    // A socket cannot be reopened. Node sets the flag with this stream, and resets it at exit.
    return process.stderr.fd;
  }
}
