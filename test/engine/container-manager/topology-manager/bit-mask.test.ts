import { describe, expect, test } from 'vitest';
import {
  bitMask,
  countOf,
  includesMask,
  isNarrower,
  masksOf,
  nodesOf,
} from '../../../../src/engine/container-manager/topology-manager/bit-mask.ts';

test.each([[[]], [[0]], [[1, 3]], [[0, 31, 32, 63]]])('a mask of the nodes %j gives them back', (nodes) => {
  const mask = bitMask(nodes);
  expect({ nodes: nodesOf(mask), count: countOf(mask) }).toEqual({ nodes, count: nodes.length });
});

test.each([[64], [-1], [1.5]])('there is no mask for node %d', (node) => {
  expect(() => bitMask([node])).toThrow('bit number must be in range 0-63');
});

test('masks of some nodes: smaller ones first', () => {
  expect([...masksOf([0, 2, 5])].map(nodesOf)).toEqual([[0], [2], [5], [0, 2], [0, 5], [2, 5], [0, 2, 5]]);
  expect([...masksOf([])]).toEqual([]);
});

describe('the narrower mask', () => {
  test.each([
    { one: [5], other: [0, 1], isIt: true },
    { one: [0, 1], other: [5], isIt: false },
    { one: [0, 3], other: [1, 2], isIt: false },
    { one: [1, 2], other: [0, 3], isIt: true },
    { one: [1], other: [1], isIt: false },
  ])('$one next to $other: $isIt', ({ one, other, isIt }) => {
    expect(isNarrower(bitMask(one), bitMask(other))).toBe(isIt);
  });
});

test('a mask includes its parts', () => {
  expect([[0], [0, 2], [1]].map((part) => includesMask(bitMask([0, 2, 3]), bitMask(part)))).toEqual([
    true,
    true,
    false,
  ]);
});
