import type { Clock } from '../clock.ts';

/** Shorter periods are exact. */
const minPeriodMs = 2000;
/** A timer may end so much before its tick. */
const earlyMs = 10;

/**
 * Whole milliseconds until the end of a period of work that repeats. Periods end at multiples of their length on the
 * monotonic clock, so that the parts of an idle agent work at the same times: waking up takes more CPU than most of
 * their work. The first period is shorter, by chance.
 */
export function untilTick(clock: Pick<Clock, 'monotonic'>, periodMs: number): number {
  if (periodMs < minPeriodMs) return periodMs;
  const now = clock.monotonic();
  return Math.ceil((Math.floor((now + earlyMs) / periodMs) + 1) * periodMs - now);
}
