import type { OriginFailureKind } from './origin-failure.ts';

/** Outcome of a check of a URL. */
export interface CheckOutcome {
  /** Undefined if the check succeeded. */
  failure: OriginFailureKind | undefined;
  /** Consecutive failures of this kind, including this one. For floods: all floods since the last manifest. */
  failuresInARow: number;
  /** How long the server asks us to wait. */
  retryAfterMs?: number | undefined;
  /** True if the server has answered since the agent started. */
  hasAnswered: boolean;
}

const firstRetryMs = 1000;
/** The longest wait after a failure, unless the interval is longer. */
const maxBackOffMs = 60_000;
/** The longest wait after a flood. It is longer because each flood costs 10 MiB of network and memory. */
const maxFloodBackOffMs = 300_000;
/** The longest wait that a server may ask for. */
const maxRetryAfterMs = 3_600_000;

/** When a node requests a URL while all is well: every `interval`, shifted by a fraction of it. */
export interface CheckTimes {
  intervalMs: number;
  /** In [0, 1). Differs from node to node, so that the requests of a fleet are spread evenly. */
  phase: number;
}

/**
 * Milliseconds until the next request. After an answer, it is the node's own next time, at least half an interval away,
 * so that a fleet that started at once spreads out after its first requests. After a refusal, a flood or a lost server,
 * it is also a time of this node, twice as far away after each failure, so that a fleet does not ask more often while
 * its server is away. Before the first answer, it is one second, doubled each time, because the network may come up at
 * any moment. If the server asks for a wait, that replaces all of these. `random` is in [0, 1), `now` in milliseconds
 * since the epoch.
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

/**
 * Returns the milliseconds that a `Retry-After` header asks for. Returns undefined if it holds neither seconds nor a
 * date.
 */
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

  /** Returns the milliseconds until the next request, after a check at `now` with this result. */
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
