import { expect, test } from 'vitest';
import { CPURates } from '../../../src/engine/stats/cpu-rates.ts';

/** Rates of one counter that has these values at these milliseconds. */
function ratesOf(...samples: readonly (readonly [nanos: number, atMs: number])[]): (number | undefined)[] {
  const rates = new CPURates();
  return samples.map(([nanos, atMs]) => {
    const rate = rates.next('a', nanos, atMs);
    rates.endSample();
    return rate;
  });
}

test('usage is the average since the sample before', () => {
  expect(ratesOf([5_000_000, 0], [15_000_000, 10_000], [1_015_000_000, 11_000])).toEqual([
    undefined,
    1_000_000,
    1_000_000_000,
  ]);
});

test('a sample soon after another one keeps the usage, and the next one covers both', () => {
  expect(ratesOf([0, 0], [10_000, 1000], [90_000, 1100], [110_000, 2000])).toEqual([
    undefined,
    10_000,
    10_000,
    100_000,
  ]);
});

test.each([
  [399, undefined],
  [400, 1_000_000],
  [120_000, 1_000_000],
  [120_001, undefined],
])('two samples that are %i ms apart give the usage %s', (elapsedMs, usage) => {
  expect(ratesOf([0, 0], [elapsedMs * 1000, elapsedMs])).toEqual([undefined, usage]);
});

test('a counter that began again has no usage yet', () => {
  expect(ratesOf([9_000_000, 0], [100, 1000], [1100, 2000])).toEqual([undefined, undefined, 1000]);
});

test('an average over a long time is not the current usage', () => {
  expect(ratesOf([0, 0], [9_000_000, 3_600_000], [9_001_000, 3_601_000])).toEqual([undefined, undefined, 1000]);
});

test('a counter that a sample does not have is dropped', () => {
  const rates = new CPURates();
  rates.next('a', 0, 0);
  rates.endSample();
  rates.endSample();
  expect(rates.next('a', 1000, 1000)).toBeUndefined();
});

test('the value before is that of the last sample, and not one of this sample', () => {
  const rates = new CPURates();
  const seen: (number | undefined)[] = [];
  const sample = (...values: readonly number[]): void => {
    seen.push(rates.before('a'));
    for (const [index, nanos] of values.entries()) rates.next('a', nanos, 100 * index);
    seen.push(rates.before('a'));
  };
  sample(5);
  rates.endSample();
  sample(6, 7);
  rates.endSample();
  sample();
  rates.endSample();
  sample();
  expect(seen).toEqual([undefined, undefined, 5, undefined, 7, 7, undefined, undefined]);
});
