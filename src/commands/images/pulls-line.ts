import { type PrintedPull, pullText } from '../../api/values/pod-printer.ts';
import type { Clock } from '../../clock.ts';

/** For the log of a CI job or a script, which is not a terminal. */
const logPeriodMs = 10_000;

interface Output {
  isTTY?: boolean;
  write(text: string): unknown;
}

/** The progress of several pulls: one changing line on a terminal, else a line every ten seconds. */
export class PullsLine {
  private readonly output: Output;
  private readonly stopTicks: () => void;
  private done = 0;
  private progress: PrintedPull | undefined;

  constructor(
    private readonly count: number,
    { output, clock }: { output: Output; clock: Clock },
  ) {
    this.output = output;
    const ended = new AbortController();
    this.stopTicks = () => {
      ended.abort();
    };
    if (output.isTTY !== true) void this.writeEachPeriod(clock, ended.signal);
  }

  /** `pull` has the totals of all layers since the first pull began. */
  progressed(pull: PrintedPull): void {
    this.progress = pull;
    this.paint();
  }

  /** Clears the line, runs `write`, which prints lines, and draws the line again. */
  ended(write: () => void): void {
    this.done += 1;
    this.clear();
    write();
    this.paint();
  }

  close(): void {
    this.stopTicks();
    this.clear();
  }

  private get text(): string {
    const bytes = this.progress === undefined ? '' : `, ${pullText(this.progress)}`;
    return `Pulling images: ${this.done} of ${this.count} done${bytes}`;
  }

  private paint(): void {
    if (this.output.isTTY === true) this.output.write(`\r${this.text}\u001B[K`);
  }

  private clear(): void {
    if (this.output.isTTY === true) this.output.write('\r\u001B[K');
  }

  private async writeEachPeriod(clock: Clock, ended: AbortSignal): Promise<void> {
    for (;;) {
      await clock.sleep(logPeriodMs, { signal: ended }).catch(() => undefined);
      if (ended.aborted) return;
      this.output.write(`${this.text}\n`);
    }
  }
}
