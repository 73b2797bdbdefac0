import type { Clock } from '../clock.ts';
import { isUnavailable } from './errors.ts';

/** Who was restarted answers within seconds, and the first to ask should not be told no. */
const askAgainMs = 500;
const patienceMs = 60_000;

/**
 * Asks a runtime that answered a moment ago, again and again while nobody answers, for up to a minute: it may just be
 * restarted. Rejects with the last error of the runtime, or with the signal's reason.
 */
export async function untilAnswered<T>(
  ask: () => T | Promise<T>,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<T> {
  const giveUpAt = clock.monotonic() + patienceMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isUnavailable(error) || clock.monotonic() >= giveUpAt) throw error;
      await clock.sleep(askAgainMs, { signal });
    }
  }
}
