import { setTimeout as delay } from 'node:timers/promises';

/** The engine's only access to time: wall time for timestamps, monotonic time for periods and back-off. */
export interface Clock {
  /** Milliseconds since the epoch. May jump. */
  now(): number;
  /** Milliseconds since the machine started, without the time it was suspended. Never goes back. */
  monotonic(): number;
  /** Resolves after `ms`. Rejects with the signal's reason if it is aborted first. */
  sleep(ms: number, options?: { signal?: AbortSignal }): Promise<void>;
  /** Calls `fn` after `ms` unless the returned function is called first. Does not keep the process alive. */
  after(ms: number, fn: () => void): () => void;
}

/** Node's longest timer; a longer one would fire at once. Probe and grace periods may be longer. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  sleep: async (ms, options = {}) => {
    try {
      let leftMs = ms;
      for (; leftMs > longestTimerMs; leftMs -= longestTimerMs) await delay(longestTimerMs, undefined, options);
      await delay(leftMs, undefined, options);
    } catch (error) {
      options.signal?.throwIfAborted();
      throw error;
    }
  },
  after: (ms, fn) => {
    let timer: NodeJS.Timeout;
    const arm = (leftMs: number): void => {
      timer = setTimeout(
        leftMs > longestTimerMs
          ? () => {
              arm(leftMs - longestTimerMs);
            }
          : fn,
        Math.min(leftMs, longestTimerMs),
      );
      timer.unref();
    };
    arm(ms);
    return () => {
      clearTimeout(timer);
    };
  },
};
