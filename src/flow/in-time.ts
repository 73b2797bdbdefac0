import type { Clock } from '../clock.ts';

/** Work exceeded its time limit. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** Returns the result of `work`. Rejects with a TimeoutError after `ms`; the work itself continues. */
export async function inTime<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  const waiting = new AbortController();
  const timeout = clock.sleep(ms, { signal: waiting.signal }).then((): never => {
    throw new TimeoutError(`not done after ${ms / 1000}s`);
  });
  // The timer is aborted, or the work fails after the timeout.
  timeout.catch(() => undefined);
  try {
    return await Promise.race([work, timeout]);
  } finally {
    waiting.abort();
  }
}
