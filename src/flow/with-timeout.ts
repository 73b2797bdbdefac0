import type { Clock } from '../clock.ts';

/** Work exceeded its time limit. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/**
 * Returns the result of `work`. Rejects with a TimeoutError after `ms`; the work itself continues. `renewedAt` returns
 * when the time last started over, in monotonic milliseconds.
 */
export async function withTimeout<T>(
  clock: Clock,
  ms: number,
  work: Promise<T>,
  renewedAt: () => number = () => -Infinity,
): Promise<T> {
  const waiting = new AbortController();
  const late = untilLate(clock, ms, renewedAt, waiting.signal);
  // The timer is aborted, or the work fails after the timeout.
  late.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    waiting.abort();
  }
}

async function untilLate(clock: Clock, ms: number, renewedAt: () => number, signal: AbortSignal): Promise<never> {
  const begunAt = clock.monotonic();
  let leftMs = ms;
  // At least once: work that is already done is not late.
  do {
    await clock.sleep(leftMs, { signal });
    leftMs = Math.max(begunAt, renewedAt()) + ms - clock.monotonic();
  } while (leftMs > 0);
  const tookMs = renewedAt() > begunAt ? Math.round((clock.monotonic() - begunAt) / 1000) * 1000 : ms;
  throw new TimeoutError(`not done after ${tookMs / 1000}s`);
}
