import type { Clock } from '../clock.ts';

/** Milliseconds. Shorter periods are not aligned. */
const minPeriodMs = 2000;
/** A timer may fire this much before its tick. */
const earlyMs = 10;

/**
 * Returns the whole milliseconds until a period of repeated work ends. Periods end at multiples of their length on the
 * monotonic clock, so that the components of an idle agent work at the same time: waking up costs more CPU than most of
 * their work. So the first period is shorter, by chance.
 */
export function untilTick(clock: Pick<Clock, 'monotonic'>, periodMs: number): number {
  if (periodMs < minPeriodMs) return periodMs;
  const now = clock.monotonic();
  return Math.ceil((Math.floor((now + earlyMs) / periodMs) + 1) * periodMs - now);
}
