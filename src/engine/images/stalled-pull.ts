import type { Clock } from '../../clock.ts';
import { abortWith } from '../../flow/abort-with.ts';

/** What is known of all pulls together. */
interface PulledSoFar {
  readonly receivedBytes: number;
  /** True while some image lacks data. Otherwise the runtime unpacks, or has not begun. */
  readonly isFetching: boolean;
}

/**
 * Looks at the pulls since a time, in milliseconds since the epoch. Resolves with undefined if nothing is ever known.
 * Rejects if it cannot look now.
 */
export type PullProgress = (since: number) => Promise<PulledSoFar | undefined>;

const checkPeriodMs = 10_000;
/** Limit of the silence while data is fetched. */
const fetchTimeoutMs = 240_000;
/**
 * Limit of the silence otherwise. Unpacking reports no progress, and takes long on a slow disk. The kubelet has no
 * limit. This one ends the pull of a runtime that hangs.
 */
const silenceTimeoutMs = 3_600_000;

/**
 * Runs a pull. Cancels it if data that began to come does not go on for four minutes, or nothing changes for an hour.
 * Without known progress there is no limit.
 */
export async function unlessStalled<T>(
  pull: (signal: AbortSignal) => Promise<T>,
  { progress, clock, signal }: { progress: PullProgress; clock: Clock; signal: AbortSignal },
): Promise<T> {
  const stalled = new AbortController();
  const ended = new AbortController();
  void silentFor(progress, clock, ended.signal).then((ms) => {
    if (ms !== undefined) stalled.abort(new Error(`no progress for ${ms / 1000} seconds`));
  });
  const release = abortWith(stalled, signal);
  try {
    return await pull(stalled.signal);
  } finally {
    release();
    ended.abort();
  }
}

/**
 * Resolves with the limit that the silence of a pull reached. Resolves with undefined if the pull ended or has no known
 * progress.
 */
async function silentFor(progress: PullProgress, clock: Clock, ended: AbortSignal): Promise<number | undefined> {
  const startedAt = clock.now();
  let last: PulledSoFar | undefined;
  let changedAtMonotonic = clock.monotonic();
  while (!ended.aborted) {
    const now = await lookOnce(progress, startedAt);
    if (now === undefined) return undefined;
    if (now !== 'failed') {
      const limitMs = now.isFetching ? fetchTimeoutMs : silenceTimeoutMs;
      if (!isSame(now, last)) changedAtMonotonic = clock.monotonic();
      else if (clock.monotonic() - changedAtMonotonic >= limitMs) return limitMs;
      last = now;
    }
    await clock.sleep(checkPeriodMs, { signal: ended }).catch(() => undefined);
  }
  return undefined;
}

/** A look that fails, such as without descriptors, says nothing about the pull. The next one may succeed. */
function lookOnce(progress: PullProgress, since: number): Promise<PulledSoFar | undefined | 'failed'> {
  return progress(since).catch(() => 'failed' as const);
}

function isSame(one: PulledSoFar, other: PulledSoFar | undefined): boolean {
  return one.receivedBytes === other?.receivedBytes && one.isFetching === other.isFetching;
}
