import { setTimeout as delay } from 'node:timers/promises';

/** The only way to time in the engine: wall time for stamps, monotonic time for periods and back-off. */
export interface Clock {
  /** Milliseconds since the epoch. May jump. */
  now(): number;
  /** Milliseconds since some fixed moment. Never goes back. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, options?: { signal?: AbortSignal }): Promise<void>;
  /** Calls `fn` after `ms` unless the returned function is called first. Does not keep the process alive. */
  after(ms: number, fn: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, options = {}) => {
    try {
      await delay(ms, undefined, options);
    } catch (error) {
      options.signal?.throwIfAborted();
      throw error;
    }
  },
  after: (ms, fn) => {
    const timer = setTimeout(fn, ms);
    timer.unref();
    return () => {
      clearTimeout(timer);
    };
  },
};
