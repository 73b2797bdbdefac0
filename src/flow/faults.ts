import type { Clock } from '../clock.ts';
import { errorMessage, isBug, UserError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { type BackOffEntry, type BackOffLimits, nextBackOff } from './back-off.ts';

/** The failures of one component of the agent, which keeps running. */
export interface FaultSnapshot {
  part: string;
  count: number;
  /** Time of the latest failure. */
  lastAt: number;
  message: string;
}

/** Delays between restarts of a failed component. Once it has run for a minute, they start over at the shortest. */
const retryLimits: BackOffLimits = { initialMs: 1000, maxMs: 60_000, resetAfterMs: 60_000 };

/**
 * Failures in the agent itself: no descriptors left, a failing disk, a bug. None of them stops the agent. They are
 * counted and logged, and the failed component is restarted.
 */
export class Faults {
  /** Failures by component. There are few, because all components are named in the code. */
  private readonly byPart = new Map<string, FaultSnapshot>();

  constructor(private readonly deps: { clock: Clock; logger: Logger }) {}

  /** Counts and logs a component's failure. Logs a bug with its stack. */
  record(part: string, error: unknown): void {
    const count = (this.byPart.get(part)?.count ?? 0) + 1;
    this.byPart.set(part, { part, count, lastAt: this.deps.clock.now(), message: errorMessage(error) });
    if (isBug(error))
      this.deps.logger.error({ part, err: error }, 'A bug in kubelet-ts: a component failed; the agent continues');
    else this.deps.logger.warn({ part, err: errorMessage(error) }, 'A component failed; restarting it');
  }

  /** Records the failure of work that is not awaited. */
  watch(part: string, work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      this.record(part, error);
    });
  }

  /** Runs a component until it returns or the signal is aborted. If it fails, runs it again after a growing delay. */
  async keepRunning(part: string, run: () => Promise<void>, signal: AbortSignal): Promise<void> {
    await this.tryUntilDone(part, run, signal, () => false);
  }

  /**
   * Repeats `work` until it succeeds and returns its result. Rejects if the work fails with a `UserError`, or with the
   * signal's reason.
   */
  async untilDone<T>(part: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const done = await this.tryUntilDone(part, work, signal, (error) => error instanceof UserError);
    if (done === undefined) throw signal.reason;
    return done.value;
  }

  snapshot(): FaultSnapshot[] {
    return [...this.byPart.values()].map((fault) => ({ ...fault }));
  }

  /** Returns undefined if the signal was aborted first. */
  private async tryUntilDone<T>(
    part: string,
    work: () => Promise<T>,
    signal: AbortSignal,
    isFinal: (error: unknown) => boolean,
  ): Promise<{ value: T } | undefined> {
    let backOff: BackOffEntry | undefined;
    for (;;) {
      try {
        return { value: await work() };
      } catch (error) {
        if (signal.aborted) return undefined;
        if (isFinal(error)) throw error;
        this.record(part, error);
      }
      const nowMonotonic = this.deps.clock.monotonic();
      backOff = nextBackOff(backOff, nowMonotonic, nowMonotonic, retryLimits);
      try {
        await this.deps.clock.sleep(backOff.backOffMs, { signal });
      } catch {
        // The agent stops.
        return undefined;
      }
    }
  }
}
