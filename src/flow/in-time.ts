import type { Clock } from '../clock.ts';

/** Something took longer than it may. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** What `work` comes to; rejects with a TimeoutError when that takes longer. The work itself is not ended. */
export async function inTime<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  const waiting = new AbortController();
  const timeout = clock.sleep(ms, { signal: waiting.signal }).then((): never => {
    throw new TimeoutError(`not done after ${ms / 1000}s`);
  });
  // It is aborted, or the work fails after it.
  timeout.catch(() => undefined);
  try {
    return await Promise.race([work, timeout]);
  } finally {
    waiting.abort();
  }
}
