import { systemClock } from '../../clock.ts';

/**
 * A signal that aborts after `ms` milliseconds, with a `TimeoutError`. `AbortSignal.timeout` fires at once for more
 * than 24 days.
 */
export function timeLimit(ms: number): AbortSignal {
  const limit = new AbortController();
  systemClock.after(ms, () => {
    limit.abort(new DOMException('The time limit has passed', 'TimeoutError'));
  });
  return limit.signal;
}
