import { expect, test } from 'vitest';
import { commonIndexes, countIndexes, type IndexRanges, withoutIndex } from '../../../src/api/values/index-ranges.ts';

const everySecond = (count: number, first: number): IndexRanges =>
  Array.from({ length: count }, (_, index) => [first + 2 * index, first + 2 * index] as const);

test.each<[IndexRanges, IndexRanges, IndexRanges]>([
  [
    [[0, 9]],
    [
      [2, 3],
      [5, 20],
    ],
    [
      [2, 3],
      [5, 9],
    ],
  ],
  [
    [
      [0, 3],
      [5, 6],
    ],
    [[3, 5]],
    [
      [3, 3],
      [5, 5],
    ],
  ],
  [[[0, 1]], [[2, 3]], []],
  [[], [[0, 1]], []],
])('the indexes of both %j and %j are %j', (some, others, common) => {
  expect(commonIndexes(some, others)).toEqual(common);
  expect(commonIndexes(others, some)).toEqual(common);
});

test('the indexes of two long lists are compared once', () => {
  expect(countIndexes(commonIndexes(everySecond(50_000, 0), everySecond(50_000, 1)))).toBe(0);
  expect(countIndexes(commonIndexes(everySecond(50_000, 0), everySecond(50_000, 0)))).toBe(50_000);
});

test('an index is removed from a range', () => {
  expect(withoutIndex([[0, 4]], 0)).toEqual([[1, 4]]);
  expect(withoutIndex([[0, 4]], 2)).toEqual([
    [0, 1],
    [3, 4],
  ]);
});
