/** The state of one status URL. Monotonic times are in milliseconds. */
export interface PostState {
  /** Sequence number of the newest event that the server has accepted. 0 if it accepted none. */
  acceptedSequence: number;
  /** When the server last accepted a status, in milliseconds since the epoch. Undefined if it never did. */
  acceptedAt: number | undefined;
  /** When the last post ended, or when the agent started. */
  triedAtMonotonic: number;
  /** Longest wait from then until the next post. */
  waitMs: number;
  /** Failures in a row. */
  failures: number;
  /** The newest failure. Undefined after a success. `since` is the time of the first in a row, like `acceptedAt`. */
  failure: (PostFailure & { since: number }) | undefined;
}

/** Why a server did not accept a status, and what to do. */
export interface PostFailure {
  message: string;
  hint: string;
}

/** What the server has not seen yet. */
export interface UnsentChanges {
  /** When the first change after the last post occurred. Undefined if nothing changed. */
  changedAtMonotonic: number | undefined;
  /** True if an earlier post had no room for some events. */
  hasEvents: boolean;
}

/** The result of a post: the newest event that it had, or why it failed. */
export type PostOutcome =
  { acceptedSequence: number } | { failed: PostFailure; /** As the server asks. */ retryAfterMs: number | undefined };

/** Spreads the first posts of boxes that start together. */
const maxStartMs = 5000;
/** A change is often followed by others within this time. */
const settleMs = 1000;
const minPauseMs = 10_000;
/** Without any change. */
const heartbeatMs = 300_000;
const firstRetryMs = 10_000;
const maxRetryMs = 300_000;
/** The longest wait that a server may ask for. */
const maxRetryAfterMs = 3_600_000;

/** The state when the agent starts. `random` is in [0, 1). */
export function startState(
  accepted: Pick<PostState, 'acceptedSequence' | 'acceptedAt'>,
  { nowMonotonic, random }: { nowMonotonic: number; random: number },
): PostState {
  return { ...accepted, triedAtMonotonic: nowMonotonic, waitMs: maxStartMs * random, failures: 0, failure: undefined };
}

/** Returns the milliseconds until the next post; 0 if it is due. Changes do not hasten a retry. */
export function nextPostDelayMs(
  { triedAtMonotonic, waitMs, failure }: PostState,
  { changedAtMonotonic, hasEvents }: UnsentChanges,
  nowMonotonic: number,
): number {
  const latest = triedAtMonotonic + waitMs;
  const isWanted = changedAtMonotonic !== undefined || hasEvents;
  const earliest = Math.max(triedAtMonotonic + minPauseMs, (changedAtMonotonic ?? -Infinity) + settleMs);
  const due = isWanted && failure === undefined ? Math.min(earliest, latest) : latest;
  return Math.max(0, due - nowMonotonic);
}

/** Returns the state after a post that ended now. `random` is in [0, 1). */
export function afterPost(
  state: PostState,
  outcome: PostOutcome,
  { now, nowMonotonic, random }: { now: number; nowMonotonic: number; random: number },
): PostState {
  const tried = { ...state, triedAtMonotonic: nowMonotonic };
  if ('acceptedSequence' in outcome) {
    const waitMs = heartbeatMs * (0.9 + 0.1 * random);
    return { ...tried, ...outcome, acceptedAt: now, waitMs, failures: 0, failure: undefined };
  }
  const failures = state.failures + 1;
  const failure = { ...outcome.failed, since: state.failure?.since ?? now };
  return { ...tried, waitMs: retryDelayMs(failures, outcome.retryAfterMs, random), failures, failure };
}

/** Doubles with each failure, with jitter, so that the boxes of a fleet do not come back to their server at once. */
function retryDelayMs(failures: number, retryAfterMs: number | undefined, random: number): number {
  if (retryAfterMs !== undefined) {
    return Math.min(Math.max(retryAfterMs, firstRetryMs), maxRetryAfterMs) * (1 + 0.1 * random);
  }
  return Math.min(firstRetryMs * 2 ** (failures - 1), maxRetryMs) * (0.5 + 0.5 * random);
}
