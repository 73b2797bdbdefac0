import { describe, expect, test } from 'vitest';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  maxQuantity,
  parseQuantity,
  quantityMilliValue,
  quantityValue,
  roundUpToMilli,
  subtractQuantities,
  toNumber,
  toQuantity,
} from '../../src/api/quantity.ts';
import { loadTable } from '../golden-tables.ts';

interface Parsed {
  ok: boolean;
  string?: string;
  format?: string;
  sign?: number;
  value?: string;
  milliValue?: string;
}

describe('the recorded quantities', () => {
  test.each(loadTable<{ s: string }, Parsed>('quantity'))('reads $in.s', ({ in: { s }, out }) => {
    const quantity = parseQuantity(s);
    if (!out.ok || !quantity) {
      expect(quantity).toBeUndefined();
      expect(out.ok).toBe(false);
      return;
    }
    const { format, nanos } = quantity;
    const found: Parsed = {
      ok: true,
      string: formatQuantity(quantity),
      format,
      sign: nanos > 0n ? 1 : nanos < 0n ? -1 : 0,
      value: quantityValue(quantity).toString(),
      milliValue: quantityMilliValue(quantity).toString(),
    };
    expect(found).toEqual(expect.objectContaining(out));
  });

  test.each(loadTable<{ a: string; b: string }, { cmp: number; sum: string; difference: string }>('quantity-ops'))(
    'compares, adds and subtracts $in.a and $in.b',
    ({ in: { a, b }, out }) => {
      const [left, right] = [toQuantity(a), toQuantity(b)];
      expect({
        ok: true,
        cmp: compareQuantities(left, right),
        sum: formatQuantity(addQuantities(left, right)),
        difference: formatQuantity(subtractQuantities(left, right)),
      }).toEqual(out);
    },
  );
});

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

test('gives whole units as a number', () => {
  expect([toNumber(toQuantity('1500m')), toNumber(toQuantity('64Mi')), toNumber(toQuantity(undefined))]).toEqual([
    2,
    64 * 1024 * 1024,
    0,
  ]);
});
