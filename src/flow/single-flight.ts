import type { Clock } from '../clock.ts';

interface Deps {
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
  /** Pause after a run, as a multiple of its duration. */
  pausePerRun: number;
  /**
   * Longest pause in milliseconds: if the process was suspended during a run, the run seems to have taken that long.
   */
  maxPauseMs: number;
}

/**
 * Runs `work` once for all calls made before it begins. They share its result or rejection. Runs never overlap. So any
 * number of callers uses at most a share of 1 / (1 + `pausePerRun`) of a core, or more if runs take so long that
 * `maxPauseMs` cuts the pause. A single call does not wait.
 */
export function singleFlight<T>(work: () => Promise<T>, { clock, pausePerRun, maxPauseMs }: Deps): () => Promise<T> {
  let next: Promise<T> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let earliestMonotonic = 0;
  const run = async (): Promise<T> => {
    await last;
    const pauseMs = earliestMonotonic - clock.monotonic();
    if (pauseMs > 0) await clock.sleep(pauseMs);
    next = undefined;
    const begunMonotonic = clock.monotonic();
    try {
      return await work();
    } finally {
      const endMonotonic = clock.monotonic();
      earliestMonotonic = endMonotonic + Math.min(maxPauseMs, pausePerRun * (endMonotonic - begunMonotonic));
    }
  };
  return () => {
    if (next !== undefined) return next;
    next = run();
    last = next.catch(() => undefined);
    return next;
  };
}
