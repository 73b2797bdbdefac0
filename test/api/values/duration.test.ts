import { describe, expect, test } from 'vitest';
import { formatDurationMs, humanDuration } from '../../../src/api/values/duration.ts';

test.each([
  [0, '0s'],
  [0.25, '250µs'],
  [1.1, '1.1ms'],
  [-1500, '-1.5s'],
  [300_000, '5m0s'],
  [9_223_372_036_854, '2562047h47m16.854s'],
])('%d milliseconds are written as %s', (milliseconds, expected) => {
  expect(formatDurationMs(milliseconds)).toBe(expected);
});

describe('humanDuration', () => {
  const second = 1000;
  const minute = 60 * second;
  const hour = 60 * minute;
  const day = 24 * hour;
  test.each([
    [-2 * second, '<invalid>'],
    [-second, '0s'],
    [-1, '0s'],
    [0, '0s'],
    [119 * second, '119s'],
    [2 * minute, '2m'],
    [9 * minute + 59 * second, '9m59s'],
    [10 * minute + 59 * second, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [7 * hour + 59 * minute, '7h59m'],
    [47 * hour + 59 * minute, '47h'],
    [2 * day, '2d'],
    [7 * day + 23 * hour, '7d23h'],
    [8 * day + 23 * hour, '8d'],
    [729 * day, '729d'],
    [2 * 365 * day, '2y'],
    [2 * 365 * day + 9 * day, '2y9d'],
    [8 * 365 * day + 9 * day, '8y'],
  ])('prints %i ms as %s', (durationMs, expected) => {
    expect(humanDuration(durationMs)).toBe(expected);
  });
});
