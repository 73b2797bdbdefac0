import type { Clock } from '../../clock.ts';
import { abortWith } from '../../abort-with.ts';

/** Bytes that pulls received so far. Resolves with undefined if unknown. */
export type PullProgress = () => Promise<number | undefined>;

const checkPeriodMs = 10_000;
/** A pull has no other deadline. */
const stallTimeoutMs = 240_000;

/** Runs a pull. Cancels it after four minutes without new data. Without known progress there is no limit. */
export async function unlessStalled<T>(
  pull: (signal: AbortSignal) => Promise<T>,
  { progress, clock, signal }: { progress: PullProgress; clock: Clock; signal: AbortSignal },
): Promise<T> {
  const stalled = new AbortController();
  const ended = new AbortController();
  void watch(progress, clock, ended.signal).then((isStalled) => {
    if (isStalled) stalled.abort(new Error(`no progress for ${stallTimeoutMs / 1000} seconds`));
  });
  const release = abortWith(stalled, signal);
  try {
    return await pull(stalled.signal);
  } finally {
    release();
    ended.abort();
  }
}

/** Resolves with true if the pull stalled, with false if it ended or has no known progress. */
async function watch(progress: PullProgress, clock: Clock, ended: AbortSignal): Promise<boolean> {
  let bytes = await progress();
  let changedAtMonotonic = clock.monotonic();
  while (bytes !== undefined && !ended.aborted) {
    await clock.sleep(checkPeriodMs, { signal: ended }).catch(() => undefined);
    const now = await progress();
    if (now !== bytes) changedAtMonotonic = clock.monotonic();
    else if (clock.monotonic() - changedAtMonotonic >= stallTimeoutMs) return true;
    bytes = now;
  }
  return false;
}
