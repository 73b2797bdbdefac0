import { expect, test } from 'vitest';
import {
  formatQuantity,
  maxQuantity,
  parseQuantity,
  quantityAsInt64,
  roundUpToMilli,
  toQuantity,
} from '../../../src/api/values/quantity.ts';

test.each([
  ['0.0001', '1m'],
  ['100.5m', '101m'],
  ['-100.5m', '-101m'],
  ['1Gi', '1Gi'],
  ['33.333m', '34m'],
])('rounds %s away from zero to the thousandths of %s', (text, rounded) => {
  expect(formatQuantity(roundUpToMilli(toQuantity(text)))).toBe(rounded);
});

test('writes an amount beyond all suffixes with its exponent', () => {
  expect(formatQuantity(toQuantity('1000E'))).toBe('1e21');
});

test('refuses at once what no machine has', () => {
  expect([parseQuantity('1e999999999'), parseQuantity('1'.repeat(10_000_000))]).toEqual([undefined, undefined]);
});

test('keeps the larger of two quantities as it is written', () => {
  expect(formatQuantity(maxQuantity(toQuantity('1024Mi'), toQuantity('1G')))).toBe('1Gi');
});

test.each([
  ['1Gi', 1_073_741_824n],
  ['1.5k', 1500n],
  ['-2', -2n],
  ['99Ti', 108_851_651_149_824n],
  ['100Ti', undefined],
  ['1.5Gi', undefined],
  ['1000m', undefined],
  ['1.0', undefined],
  ['9E', 9_000_000_000_000_000_000n],
  ['10E', undefined],
  ['', undefined],
  ['x', undefined],
])('Go keeps %s as the integer %s', (text, expected) => {
  expect(quantityAsInt64(text)).toBe(expected);
});
