import { describe, expect, test } from 'vitest';
import type { HTTPFailureKind } from '../../../../src/engine/config/http/http-failure.ts';
import { nextCheckDelayMs, parseRetryAfter } from '../../../../src/engine/config/http/next-check-delay.ts';

type Row = [
  failure: HTTPFailureKind | undefined,
  failuresInARow: number,
  intervalMs: number,
  least: number,
  most: number,
];

test.each<Row>([
  [undefined, 0, 20_000, 18_000, 22_000],
  ['is no manifest', 9, 20_000, 18_000, 22_000],
  ['is a flood', 1, 20_000, 10_000, 20_000],
  ['is a flood', 2, 20_000, 20_000, 40_000],
  ['is a flood', 1000, 20_000, 150_000, 300_000],
  ['is a flood', 1000, 3_600_000, 1_800_000, 3_600_000],
  ['no answer', 1, 20_000, 500, 1000],
  ['no answer', 4, 20_000, 4000, 8000],
  ['no answer', 1000, 20_000, 30_000, 60_000],
  ['no answer', 1, 100, 50, 100],
  ['refused', 1, 20_000, 10_000, 20_000],
  ['refused', 2, 20_000, 20_000, 40_000],
  ['refused', 3, 20_000, 30_000, 60_000],
  ['refused', 1000, 300_000, 150_000, 300_000],
])(
  'after "%s", the time %i in a row, an interval of %i ms becomes %i to %i',
  (failure, failuresInARow, intervalMs, ...range) => {
    const delays = [0, 1].map((random) => {
      return nextCheckDelayMs({ failure, failuresInARow, retryAfterMs: undefined }, intervalMs, random);
    });
    expect(delays).toEqual(range);
  },
);

test.each([
  [0, 1000],
  [90_000, 90_000],
  [10 * 3_600_000, 3_600_000],
])('a server that asks for %i ms gets %i', (retryAfterMs, delay) => {
  const outcome = { failure: 'refused', failuresInARow: 1, retryAfterMs } as const;
  expect(nextCheckDelayMs(outcome, 20_000, 0)).toBe(delay);
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
