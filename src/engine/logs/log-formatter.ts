import type { LogLine } from './log-line.ts';

/** Options for the output of a log. */
export interface LogFormatOptions {
  /** Skips entries before this time, in milliseconds since the epoch. */
  sinceMs?: number;
  /** Nanoseconds to add to `sinceMs`, less than a millisecond. */
  sinceExtraNs?: number;
  /** Prints the time before every line, only once for a line that came in parts. */
  timestamps?: boolean;
  /** Prints only the entries of this stream. */
  stream?: 'stdout' | 'stderr';
  /** Stops after this many bytes, even within a line. */
  limitBytes?: number;
}

const newline = 0x0a;

/** Turns log lines into output bytes. kubelet: cri-client logs.go logWriter */
export class LogFormatter {
  private bytesLeft: number;
  private atLineStart = true;

  constructor(private readonly options: LogFormatOptions) {
    this.bytesLeft = options.limitBytes ?? Infinity;
  }

  /** True once the byte limit is reached. */
  get isFull(): boolean {
    return this.bytesLeft <= 0;
  }

  /**
   * Returns the output for `line`. Empty if the line is too old, belongs to the other stream, or the limit is reached.
   */
  format(line: LogLine): Buffer {
    const { stream, timestamps = false } = this.options;
    const withTime = timestamps && this.atLineStart;
    // As in the kubelet, skipped lines count too.
    this.atLineStart = line.log.length === 0 || line.log.at(-1) === newline;
    if (this.isTooOld(line) || (stream !== undefined && line.stream !== stream)) return Buffer.alloc(0);
    const whole = withTime ? Buffer.concat([Buffer.from(`${line.timestamp} `), line.log]) : line.log;
    const bytes = whole.length > this.bytesLeft ? whole.subarray(0, this.bytesLeft) : whole;
    this.bytesLeft -= bytes.length;
    return bytes;
  }
  private isTooOld({ timestamp }: LogLine): boolean {
    const { sinceMs, sinceExtraNs = 0 } = this.options;
    if (sinceMs === undefined) return false;
    const ms = Date.parse(timestamp);
    return ms < sinceMs || (ms === sinceMs && nanosecondsOf(timestamp) < sinceExtraNs);
  }
}

/** Returns the nanoseconds of an RFC 3339 time beyond its milliseconds, because `Date` only reads milliseconds. */
export function nanosecondsOf(time: string): number {
  const [, fraction = ''] = /[.,](\d+)/.exec(time) ?? [];
  return Number(fraction.slice(3, 9).padEnd(6, '0'));
}
