import { expect, test } from 'vitest';
import { growthOf } from './measured.ts';

/** One sample a second. */
const samplesOf = (...residents: readonly number[]): Parameters<typeof growthOf>[0] =>
  residents.map((residentMB, seconds) => ({ seconds, residentMB }));
const range = (length: number): number[] => Array.from({ length }, (_, index) => index);

test('memory grows by the last third after a minute of warm-up over the first third', () => {
  const flat = range(90).map((second) => 100 + (second % 3));
  const leak = range(90).map((second) => 100 + second);
  const growths = [flat, leak, []].map((later) => growthOf(samplesOf(...range(60), ...later)));
  expect(growths).toEqual([1, 175 / 115, NaN]);
});
