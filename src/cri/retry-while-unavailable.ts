import type { Clock } from '../clock.ts';
import { isUnavailable } from './errors.ts';

/** Pause between attempts. A restarted runtime answers within seconds. */
const retryMs = 500;
const patienceMs = 60_000;

/**
 * Repeats a call while the runtime does not answer, for up to a minute: it answered a moment ago, so it may be
 * restarting. Rejects with the runtime's last error, or with the signal's reason.
 */
export async function retryWhileUnavailable<T>(
  ask: () => T | Promise<T>,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<T> {
  const giveUpAtMonotonic = clock.monotonic() + patienceMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isUnavailable(error) || clock.monotonic() >= giveUpAtMonotonic) throw error;
      await clock.sleep(retryMs, { signal });
    }
  }
}
