import type { OriginFailureKind } from './origin-failure.ts';

/** Outcome of a check of a URL. */
export interface CheckOutcome {
  /** Undefined if the check succeeded. */
  failure: OriginFailureKind | undefined;
  /** Consecutive failures of this kind, including this one. For floods: all floods since the last manifest. */
  failuresInARow: number;
  /** Wait that the server demands. */
  retryAfterMs?: number | undefined;
  /** True after an answer since the start of the agent. */
  hasAnswered: boolean;
}

const firstRetryMs = 1000;
/** The longest wait after a failure, unless the interval is longer. */
const maxBackOffMs = 60_000;
/** The longest wait after a flood. It is longer because each flood costs 10 MiB of network and memory. */
const maxFloodBackOffMs = 300_000;
/** The longest wait that a server may demand. */
const maxRetryAfterMs = 3_600_000;

/** The times at which a node requests a URL while all is well: `interval` apart, moved by a part of it. */
export interface CheckTimes {
  intervalMs: number;
  /** In [0, 1). Differs from node to node, so that the requests of a fleet are spread evenly. */
  phase: number;
}

/**
 * Milliseconds until the next request. After an answer: the node's own next time, at least half an interval away. So a
 * fleet that started at once is spread after its first requests. After a refusal, a flood or the loss of a server: an
 * own time too, which is twice as far away each time. So a fleet does not ask more often while its server is away.
 * Before the first answer: one second, doubled each time, because the network may come up at any moment. A wait that
 * the server demands replaces all of these. `random` is in [0, 1), `now` in milliseconds since the epoch.
 */
export function nextCheckDelayMs(
  { failure, failuresInARow, retryAfterMs, hasAnswered }: CheckOutcome,
  times: CheckTimes,
  { now, random }: { now: number; random: number },
): number {
  const { intervalMs } = times;
  if (failure === undefined || failure === 'is no manifest') return untilOwnTimeMs(times, now);
  if (retryAfterMs !== undefined) return clamp(retryAfterMs, firstRetryMs, maxRetryAfterMs) * (1 + 0.1 * random);
  const doubled = 2 ** (failuresInARow - 1);
  if (failure === 'no answer' && !hasAnswered) {
    const backOff = Math.min(Math.min(firstRetryMs, intervalMs) * doubled, Math.max(maxBackOffMs, intervalMs));
    return backOff * (0.5 + 0.5 * random);
  }
  const periodMs = failure === 'no answer' ? Math.min(maxBackOffMs, intervalMs) : intervalMs;
  const mostMs = failure === 'is a flood' ? maxFloodBackOffMs : maxBackOffMs;
  const periods = Math.min(doubled, Math.max(1, Math.floor(mostMs / periodMs)));
  return untilOwnTimeMs({ ...times, intervalMs: periodMs }, now) + (periods - 1) * periodMs;
}

function untilOwnTimeMs({ intervalMs, phase }: CheckTimes, now: number): number {
  const untilNext = intervalMs - ((now + intervalMs * (1 - phase)) % intervalMs);
  return untilNext < intervalMs / 2 ? untilNext + intervalMs : untilNext;
}

/** Milliseconds of a `Retry-After` header. Returns undefined if it holds neither seconds nor a date. */
export function parseRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

/** Counts the failures of one URL, and chooses the time of each next request. */
export class CheckSchedule {
  private failure: OriginFailureKind | undefined;
  private failuresInARow = 0;
  private floods = 0;
  private hasAnswered = false;

  /** `random` is uniform in [0, 1). */
  constructor(
    private readonly times: CheckTimes,
    private readonly random: () => number,
  ) {}

  /** Milliseconds until the next request, after a check with this result at `now`. */
  next({ failure, retryAfterMs }: Partial<Pick<CheckOutcome, 'failure' | 'retryAfterMs'>>, now: number): number {
    this.failuresInARow = failure === this.failure ? this.failuresInARow + 1 : 1;
    this.failure = failure;
    if (failure === undefined) this.floods = 0;
    else if (failure === 'is a flood') this.failuresInARow = ++this.floods;
    this.hasAnswered ||= failure !== 'no answer';
    const { failuresInARow, hasAnswered } = this;
    const outcome = { failure, failuresInARow, retryAfterMs, hasAnswered };
    return nextCheckDelayMs(outcome, this.times, { now, random: this.random() });
  }
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
