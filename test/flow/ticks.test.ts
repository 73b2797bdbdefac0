import { expect, test } from 'vitest';
import { untilTick } from '../../src/flow/ticks.ts';

const at = (nowMs: number, periodMs: number): number => untilTick({ monotonic: () => nowMs }, periodMs);

test.each([
  { nowMs: 0, periodMs: 10_000, tickMs: 10_000 },
  { nowMs: 3000, periodMs: 10_000, tickMs: 10_000 },
  { nowMs: 10_000, periodMs: 10_000, tickMs: 20_000 },
  // A timer that ended early.
  { nowMs: 9999.6, periodMs: 10_000, tickMs: 20_000 },
  { nowMs: 9980, periodMs: 10_000, tickMs: 10_000 },
  { nowMs: 12_345.6, periodMs: 5000, tickMs: 15_000 },
  { nowMs: 61_000, periodMs: 60_000, tickMs: 120_000 },
])('at $nowMs ms a period of $periodMs ms ends at $tickMs ms', ({ nowMs, periodMs, tickMs }) => {
  expect(at(nowMs, periodMs)).toBe(Math.ceil(tickMs - nowMs));
});

test('periods below two seconds are exact', () => {
  expect(at(1234, 1999)).toBe(1999);
});
