import type { LogLine } from './log-line.ts';

/** What is to be seen of a log. */
export interface LogFormatOptions {
  /** Milliseconds since the epoch: entries dated earlier are left out. */
  sinceMs?: number;
  /** Put the time before every line, once for a line that came in parts. */
  timestamps?: boolean;
  /** Stop after so many bytes, wherever that is in a line. */
  limitBytes?: number;
}

const newline = 0x0a;

/** Turns log lines into the bytes to show. kubelet: cri-client logs.go logWriter */
export class LogFormatter {
  readonly #options: LogFormatOptions;
  #bytesLeft: number;
  #atLineStart = true;

  constructor(options: LogFormatOptions) {
    this.#options = options;
    this.#bytesLeft = options.limitBytes ?? Infinity;
  }

  /** True once the limit is reached: nothing more will come. */
  get isFull(): boolean {
    return this.#bytesLeft <= 0;
  }

  /** The bytes for `line`; empty when it is too old or nothing more is wanted. */
  format(line: LogLine): Buffer {
    const withTime = this.#options.timestamps === true && this.#atLineStart;
    this.#atLineStart = line.log.length === 0 || line.log.at(-1) === newline;
    const { sinceMs } = this.#options;
    if (sinceMs !== undefined && Date.parse(line.timestamp) < sinceMs) return Buffer.alloc(0);
    const whole = withTime ? Buffer.concat([Buffer.from(`${line.timestamp} `), line.log]) : line.log;
    const bytes = whole.length > this.#bytesLeft ? whole.subarray(0, this.#bytesLeft) : whole;
    this.#bytesLeft -= bytes.length;
    return bytes;
  }
}
