import type { LogLine } from './log-line.ts';

/** Options for the output of a log. */
export interface LogFormatOptions {
  /** Leaves out entries before this time, in milliseconds since the epoch. */
  sinceMs?: number;
  /** The time is this much later than `sinceMs`. Less than a millisecond. */
  sinceExtraNs?: number;
  /** Puts the time before every line, once for a line that came in parts. */
  timestamps?: boolean;
  /** Leaves out the entries of the other stream. */
  stream?: 'stdout' | 'stderr';
  /** Stops after this many bytes, also within a line. */
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

  /** The output for `line`. Empty if the line is too old, of the other stream, or the limit is reached. */
  format(line: LogLine): Buffer {
    const { stream, timestamps = false } = this.options;
    const withTime = timestamps && this.atLineStart;
    // Lines that are left out count too, as in the kubelet.
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

/** Nanoseconds of an RFC 3339 time, besides its milliseconds, which are all that `Date` reads. */
export function nanosecondsOf(time: string): number {
  const [, fraction = ''] = /[.,](\d+)/.exec(time) ?? [];
  return Number(fraction.slice(3, 9).padEnd(6, '0'));
}
