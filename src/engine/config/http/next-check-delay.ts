import type { HTTPFailureKind } from './http-failure.ts';

/** How a check of a URL ended. */
export interface CheckOutcome {
  /** Undefined: the URL gave what is to be known of it now. */
  failure: HTTPFailureKind | undefined;
  /** Checks in a row that failed like that, this one included. Of floods those since the last manifest. */
  failuresInARow: number;
  /** How long the server asks us to stay away. */
  retryAfterMs: number | undefined;
}

const firstRetryMs = 1000;
/** The longest wait after a failure, unless the checks are further apart anyway. */
const maxBackOffMs = 60_000;
/** The same after a flood: each costs 10 MiB of the network and the memory. */
const maxFloodBackOffMs = 300_000;
/** A server may ask for this much patience. */
const maxRetryAfterMs = 3_600_000;

/**
 * Milliseconds until a URL is asked again. After an answer: the interval, ten percent more or less, so that the nodes
 * of a fleet spread out. Without an answer: one second, doubled each time, as the network may come up any moment. When
 * the server refused, or sent a flood: the interval, doubled each time. What the server asks for goes before that.
 * `random` is in [0, 1).
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

/** Milliseconds that a `Retry-After` header asks for, be it seconds or a date; undefined when it says neither. */
export function parseRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
