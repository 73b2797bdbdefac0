import type { Clock } from '../../clock.ts';
import { abortWith } from '../../flow/abort-with.ts';

/** What is known about all pulls together. */
interface PulledSoFar {
  readonly receivedBytes: number;
  /** True while some image lacks data. Otherwise the runtime is unpacking, or has not begun. */
  readonly isFetching: boolean;
}

/**
 * Reads the progress of the pulls since a time, in milliseconds since the epoch. Resolves with undefined if the
 * progress can never be known. Rejects if it cannot be read now.
 */
export type PullProgress = (since: number) => Promise<PulledSoFar | undefined>;

const checkPeriodMs = 10_000;
/** How long a pull may make no progress while data is fetched. */
const fetchTimeoutMs = 240_000;
/**
 * How long a pull may make no progress otherwise. Unpacking reports no progress, and takes long on a slow disk. The
 * kubelet has no limit. This one cancels the pull of a hung runtime.
 */
const silenceTimeoutMs = 3_600_000;

/**
 * Runs a pull. Cancels it if data stops arriving for four minutes, or nothing changes for an hour. There is no limit if
 * the progress is unknown.
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
 * Resolves with the limit that a pull without progress reached. Resolves with undefined if the pull finished, or if its
 * progress is unknown.
 */
async function silentFor(progress: PullProgress, clock: Clock, ended: AbortSignal): Promise<number | undefined> {
  const startedAt = clock.now();
  let last: PulledSoFar | undefined;
  let changedAtMonotonic = clock.monotonic();
  while (!ended.aborted) {
    const now = await readOnce(progress, startedAt);
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

/**
 * If a read fails, for example for lack of descriptors, that says nothing about the pull. The next read may succeed.
 */
function readOnce(progress: PullProgress, since: number): Promise<PulledSoFar | undefined | 'failed'> {
  return progress(since).catch(() => 'failed' as const);
}

function isSame(one: PulledSoFar, other: PulledSoFar | undefined): boolean {
  return one.receivedBytes === other?.receivedBytes && one.isFetching === other.isFetching;
}
