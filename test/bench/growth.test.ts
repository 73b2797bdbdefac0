import { expect, test } from 'vitest';
import { growthPower } from '../../bench/growth.ts';

const costs = (costOf: (size: number) => number): { size: number; cost: number }[] =>
  [10, 100, 1000].map((size) => ({ size, cost: costOf(size) }));

test('is 1 for costs in proportion, 2 for the square, 0 for what is always the same', () => {
  const powers = [(n: number) => 3 * n, (n: number) => n * n, () => 7].map((costOf) => growthPower(costs(costOf)));
  expect(powers.map((power) => Math.round(power * 1000) / 1000)).toEqual([1, 2, 0]);
});

test('leaves out what cost nothing, and knows nothing from one cost', () => {
  expect(growthPower([{ size: 1, cost: 0 }, ...costs((size) => size)])).toBeCloseTo(1);
  expect(growthPower([{ size: 10, cost: 5 }])).toBeNaN();
});
