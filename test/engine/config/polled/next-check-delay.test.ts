import { describe, expect, test } from 'vitest';
import type { OriginFailureKind } from '../../../../src/engine/config/polled/origin-failure.ts';
import { nextCheckDelayMs, parseRetryAfter } from '../../../../src/engine/config/polled/next-check-delay.ts';

type Row = [
  failure: OriginFailureKind,
  hasAnswered: boolean,
  failuresInARow: number,
  intervalMs: number,
  least: number,
  most: number,
];

test.each<Row>([
  ['is a flood', true, 1, 20_000, 20_000, 20_000],
  ['is a flood', true, 2, 20_000, 40_000, 40_000],
  ['is a flood', true, 1000, 20_000, 300_000, 300_000],
  ['is a flood', true, 1000, 3_600_000, 3_600_000, 3_600_000],
  ['no answer', false, 1, 20_000, 500, 1000],
  ['no answer', false, 4, 20_000, 4000, 8000],
  ['no answer', false, 1000, 20_000, 30_000, 60_000],
  ['no answer', false, 1, 100, 50, 100],
  ['no answer', true, 1, 20_000, 20_000, 20_000],
  ['no answer', true, 3, 20_000, 60_000, 60_000],
  ['no answer', true, 1000, 20_000, 60_000, 60_000],
  ['no answer', true, 1, 3_600_000, 60_000, 60_000],
  ['refused', true, 1, 20_000, 20_000, 20_000],
  ['refused', true, 2, 20_000, 40_000, 40_000],
  ['refused', true, 3, 20_000, 60_000, 60_000],
  ['refused', true, 1000, 300_000, 300_000, 300_000],
])(
  'after "%s" (answered before: %s), the time %i in a row, an interval of %i ms becomes %i to %i',
  (failure, hasAnswered, failuresInARow, intervalMs, ...range) => {
    const outcome = { failure, failuresInARow, hasAnswered };
    const delays = [0, 1].map((random) => {
      return nextCheckDelayMs(outcome, { intervalMs, phase: 0 }, { now: 0, random });
    });
    expect(delays).toEqual(range);
  },
);

test.each<[failure: OriginFailureKind | undefined, now: number, phase: number, delay: number]>([
  [undefined, 0, 0, 20_000],
  [undefined, 20_000_000, 0, 20_000],
  [undefined, 500, 0, 19_500],
  [undefined, 19_500, 0, 20_500],
  [undefined, 9_000, 0.25, 16_000],
  ['is no manifest', 9_000, 0.75, 26_000],
  ['is no manifest', 4_000, 0.75, 11_000],
  ['no answer', 4_000, 0.75, 51_000],
])('after "%s" at %i ms, the time of a node with phase %d is %i ms away', (failure, now, phase, delay) => {
  const outcome = { failure, failuresInARow: 9, hasAnswered: true };
  expect(nextCheckDelayMs(outcome, { intervalMs: 20_000, phase }, { now, random: 0.5 })).toBe(delay);
});

test.each([
  [0, 1000],
  [90_000, 90_000],
  [10 * 3_600_000, 3_600_000],
])('a server that asks for %i ms gets %i', (retryAfterMs, delay) => {
  const outcome = { failure: 'refused', failuresInARow: 1, retryAfterMs, hasAnswered: true } as const;
  expect(nextCheckDelayMs(outcome, { intervalMs: 20_000, phase: 0 }, { now: 0, random: 0 })).toBe(delay);
});

describe('Retry-After', () => {
  const now = Date.parse('2025-01-01T00:00:00Z');

  test.each([
    ['120', 120_000],
    ['Wed, 01 Jan 2025 00:01:00 GMT', 60_000],
    ['Tue, 31 Dec 2024 00:00:00 GMT', 0],
    ['soon', undefined],
    [undefined, undefined],
  ])('"%s" is %s ms', (text, ms) => {
    expect(parseRetryAfter(text, now)).toBe(ms);
  });
});
