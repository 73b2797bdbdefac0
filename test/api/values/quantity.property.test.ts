import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  maxQuantity,
  parseQuantity,
  type Quantity,
  quantityMilliValue,
  quantityValue,
  subtractQuantities,
} from '../../../src/api/values/quantity.ts';
import { propertyRuns, propertyTimeoutMs } from '../../support/property-runs.ts';

const runs = propertyRuns(500);
// Slow machines are slow here; nothing waits.
const timeout = { timeout: propertyTimeoutMs };

/** A fraction of two whole numbers: no rounding hides anywhere. */
interface Rational {
  numerator: bigint;
  denominator: bigint;
}

interface Written {
  text: string;
  value: Rational;
  isBinary: boolean;
}

const digits = (maxLength: number): fc.Arbitrary<string> =>
  fc.array(fc.nat(9), { maxLength }).map((list) => list.join(''));

const anySuffix: fc.Arbitrary<{ text: string; base: 2n | 10n; exponent: number }> = fc.oneof(
  fc
    .constantFrom(...['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'].entries())
    .map(([index, text]) => ({ text, base: 10n as const, exponent: 3 * (index - 3) })),
  fc
    .constantFrom(...['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].entries())
    .map(([index, text]) => ({ text, base: 2n as const, exponent: 10 * (index + 1) })),
  fc
    .record({
      letter: fc.constantFrom('e', 'E'),
      plus: fc.constantFrom('', '+'),
      exponent: fc.integer({ min: -30, max: 30 }),
    })
    .map(({ letter, plus, exponent }) => ({
      text: `${letter}${exponent < 0 ? '' : plus}${exponent}`,
      base: 10n as const,
      exponent,
    })),
);

/** Texts of quantities as people could write them, with what they say. */
const anyWritten: fc.Arbitrary<Written> = fc
  .record({ sign: fc.constantFrom('', '', '-', '+'), whole: digits(21), fraction: digits(14), suffix: anySuffix })
  .filter(({ whole, fraction }) => whole + fraction !== '')
  .map(({ sign, whole, fraction, suffix }) => {
    const magnitude = BigInt(whole + fraction);
    const scale = suffix.base ** BigInt(Math.abs(suffix.exponent));
    const tens = 10n ** BigInt(fraction.length);
    return {
      text: `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}${suffix.text}`,
      value: {
        numerator: (sign === '-' ? -magnitude : magnitude) * (suffix.exponent > 0 ? scale : 1n),
        denominator: tens * (suffix.exponent < 0 ? scale : 1n),
      },
      isBinary: suffix.base === 2n,
    };
  });

const anyQuantity = anyWritten.map(({ text }) => parsed(text));

function parsed(text: string): Quantity {
  const quantity = parseQuantity(text);
  if (!quantity) throw new Error(`"${text}" is no quantity`);
  return quantity;
}

/** The value in units of 1/`parts`, rounded away from zero. */
function roundedUp({ numerator, denominator }: Rational, parts: bigint): bigint {
  const magnitude = numerator < 0n ? -numerator : numerator;
  const rounded = (magnitude * parts + denominator - 1n) / denominator;
  return numerator < 0n ? -rounded : rounded;
}

/** Go holds no more in a binary amount. */
const mostNanos = (2n ** 63n - 1n) * 10n ** 9n;

const sign = (value: bigint): number => (value > 0n ? 1 : value < 0n ? -1 : 0);

test('a quantity is what its text says, to the billionth, rounded away from zero', timeout, () => {
  fc.assert(
    fc.property(anyWritten, ({ text, value, isBinary }) => {
      const nanos = roundedUp(value, 10n ** 9n);
      const held =
        !isBinary || (nanos <= mostNanos && nanos >= -mostNanos) ? nanos : nanos < 0n ? -mostNanos : mostNanos;
      expect(parsed(text).nanos).toBe(held);
    }),
    runs,
  );
});

test('the canonical text of a quantity means the same, and is its own canonical text', timeout, () => {
  fc.assert(
    fc.property(anyQuantity, (quantity) => {
      const text = formatQuantity(quantity);
      const again = parsed(text);
      expect([again.nanos, formatQuantity(again)]).toEqual([quantity.nanos, text]);
    }),
    runs,
  );
});

test('the text of a computed quantity means the same', timeout, () => {
  // Beyond that Go writes binary amounts that it does not read again.
  const computable = anyQuantity.filter(({ nanos }) => nanos < mostNanos / 2n && nanos > -mostNanos / 2n);
  fc.assert(
    fc.property(computable, computable, (a, b) => {
      const sum = addQuantities(a, b);
      const difference = subtractQuantities(a, b);
      expect([parsed(formatQuantity(sum)).nanos, parsed(formatQuantity(difference)).nanos]).toEqual([
        a.nanos + b.nanos,
        a.nanos - b.nanos,
      ]);
    }),
    runs,
  );
});

test('sums, differences and whole parts are exact', timeout, () => {
  fc.assert(
    fc.property(anyQuantity, anyQuantity, (a, b) => {
      expect(subtractQuantities(addQuantities(a, b), b).nanos).toBe(a.nanos);
      expect(addQuantities(a, b).nanos).toBe(addQuantities(b, a).nanos);
      const value = { numerator: a.nanos, denominator: 10n ** 9n };
      expect([quantityValue(a), quantityMilliValue(a)]).toEqual([roundedUp(value, 1n), roundedUp(value, 1000n)]);
    }),
    runs,
  );
});

test('quantities have one order, that of their values', timeout, () => {
  fc.assert(
    fc.property(anyQuantity, anyQuantity, anyQuantity, (a, b, c) => {
      expect(compareQuantities(a, b)).toBe(sign(a.nanos - b.nanos));
      expect(compareQuantities(a, a)).toBe(0);
      expect(compareQuantities(a, b) + compareQuantities(b, a)).toBe(0);
      const [first, second, third] = [a, b, c].toSorted(compareQuantities);
      expect([first, second, third].map((quantity) => quantity?.nanos)).toEqual(
        [a.nanos, b.nanos, c.nanos].toSorted((x, y) => sign(x - y)),
      );
      expect(maxQuantity(a, b).nanos).toBe(a.nanos > b.nanos ? a.nanos : b.nanos);
    }),
    runs,
  );
});

test('a text with anything wrong in it is not a quantity', timeout, () => {
  const wrong = fc.constantFrom(
    'K',
    'Kii',
    'ki',
    'mi',
    'GB',
    'b',
    ' ',
    '\n',
    'e',
    'e+',
    'e1.5',
    'Gi1',
    '%',
    '..',
    '_',
    '\u0661',
  );
  fc.assert(
    fc.property(digits(20), wrong, (number, ending) => {
      expect([parseQuantity(`1${number}${ending}`), parseQuantity(`${ending}1${number}x`)]).toEqual([
        undefined,
        undefined,
      ]);
    }),
    runs,
  );
});

test('whatever a text is, it is a quantity or none', timeout, () => {
  const nearly = fc.stringMatching(/^[-+.0-9eEnumkKMGTPi \n]{0,12}$/);
  fc.assert(
    fc.property(fc.oneof(nearly, fc.string(), fc.string({ unit: 'binary' })), (text) => {
      const quantity = parseQuantity(text);
      if (quantity) expect(parsed(formatQuantity(quantity)).nanos).toBe(quantity.nanos);
    }),
    propertyRuns(1000),
  );
});
