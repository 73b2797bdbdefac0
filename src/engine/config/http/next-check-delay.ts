import type { HTTPFailureKind } from './http-failure.ts';

/** Outcome of a check of a URL. */
export interface CheckOutcome {
  /** Undefined if the check succeeded. */
  failure: HTTPFailureKind | undefined;
  /** Consecutive failures of this kind, including this one. For floods: all floods since the last manifest. */
  failuresInARow: number;
  /** Wait that the server demands. */
  retryAfterMs: number | undefined;
}

const firstRetryMs = 1000;
/** The longest wait after a failure, unless the interval is longer. */
const maxBackOffMs = 60_000;
/** The longest wait after a flood. It is longer because each flood costs 10 MiB of network and memory. */
const maxFloodBackOffMs = 300_000;
/** The longest wait that a server may demand. */
const maxRetryAfterMs = 3_600_000;

/**
 * Milliseconds until the next request. After an answer: the interval plus or minus 10 %, so that the nodes of a fleet
 * spread out. Without an answer: one second, doubled each time, because the network may come up at any moment. After a
 * refusal or a flood: the interval, doubled each time. A wait that the server demands replaces all of these. `random`
 * is in [0, 1).
 */
export function nextCheckDelayMs(
  { failure, failuresInARow, retryAfterMs }: CheckOutcome,
  intervalMs: number,
  random: number,
): number {
  if (failure === undefined || failure === 'is no manifest') return intervalMs * (0.9 + 0.2 * random);
  if (retryAfterMs !== undefined) return clamp(retryAfterMs, firstRetryMs, maxRetryAfterMs) * (1 + 0.1 * random);
  const first = failure === 'no answer' ? Math.min(firstRetryMs, intervalMs) : intervalMs;
  const most = failure === 'is a flood' ? maxFloodBackOffMs : maxBackOffMs;
  const backOff = Math.min(first * 2 ** (failuresInARow - 1), Math.max(most, intervalMs));
  return backOff * (0.5 + 0.5 * random);
}

/** Milliseconds of a `Retry-After` header. Returns undefined if it holds neither seconds nor a date. */
export function parseRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
