import { goQuote } from './go-quote.ts';

const integerForm = /^[+-]?\d+$/;
const trueTexts = ['1', 't', 'T', 'TRUE', 'true', 'True'];
const falseTexts = ['0', 'f', 'F', 'FALSE', 'false', 'False'];

/** An integer as Go's strconv.Atoi reads it. Throws an `Error` with Go's message. */
export function parseGoInt(text: string): number {
  const value = parseInt64(text);
  if (typeof value === 'string') throw new Error(`strconv.Atoi: parsing ${goQuote(text)}: ${value}`);
  return Number(value);
}

/** A decimal integer as Go's strconv.ParseInt reads it with 64 bits. Returns Go's reason for any other text. */
export function parseInt64(text: string): bigint | 'invalid syntax' | 'value out of range' {
  if (!integerForm.test(text)) return 'invalid syntax';
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : 'value out of range';
}

/** A truth value as Go's strconv.ParseBool reads it. Throws an `Error` with Go's message. */
export function parseGoBool(text: string): boolean {
  if (trueTexts.includes(text)) return true;
  if (falseTexts.includes(text)) return false;
  throw new Error(`strconv.ParseBool: parsing ${goQuote(text)}: invalid syntax`);
}

const digits = String.raw`\d+(?:_\d+)*`;
const hexDigits = String.raw`[\da-f]+(?:_[\da-f]+)*`;
const decimalFloat = new RegExp(`^(?:${digits}\\.?(?:${digits})?|\\.${digits})(?:e[+-]?${digits})?$`, 'i');
const hexFloat = new RegExp(`^0x(?:_?${hexDigits}\\.?(?:${hexDigits})?|\\.${hexDigits})p[+-]?${digits}$`, 'i');

/**
 * A 32-bit float as Go's strconv.ParseFloat reads it: decimal, hexadecimal, infinite or not a number. Returns undefined
 * for any other text, and for a number that is too large.
 */
export function parseFloat32(text: string): number | undefined {
  const [, sign = '', unsigned = ''] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  const factor = sign === '-' ? -1 : 1;
  if (/^inf(?:inity)?$/i.test(unsigned)) return factor * Infinity;
  if (/^nan$/i.test(text)) return NaN;
  const magnitude = parseFloatMagnitude(unsigned);
  const float = magnitude === undefined ? undefined : Math.fround(magnitude);
  return float === undefined || float === Infinity ? undefined : factor * float;
}

function parseFloatMagnitude(text: string): number | undefined {
  const plain = text.replaceAll('_', '');
  if (decimalFloat.test(text)) return Number(plain);
  if (!hexFloat.test(text)) return undefined;
  const [, whole = '', fraction = '', exponent] = /^0x([\da-f]*)\.?([\da-f]*)p(.*)$/i.exec(plain) ?? [];
  const mantissa = Number(`0x${whole}${fraction}`);
  // An infinite power must not make another number of 0.
  return mantissa === 0 ? 0 : mantissa * 2 ** (Number(exponent) - 4 * fraction.length);
}

/** Bases by prefix, as in an integer literal of Go. */
const bases: readonly (readonly [prefix: RegExp, digits: RegExp, prefixOfBigInt: string])[] = [
  [/^0x/i, /^(?:_?[\da-f])+$/i, '0x'],
  [/^0b/i, /^(?:_?[01])+$/, '0b'],
  [/^0o/i, /^(?:_?[0-7])+$/, '0o'],
  [/^0(?=.)/, /^(?:_?[0-7])+$/, '0o'],
  [/^(?=\d)/, /^\d(?:_?\d)*$/, ''],
];

/**
 * An integer as Go's strconv.ParseInt reads it with base 0: `0x10`, `1_000`, and `010` for 8. Returns undefined for any
 * other text, and for an integer that needs more bits.
 */
export function parseIntLiteral(text: string, bits: 32 | 64): bigint | undefined {
  const [, sign = '', unsigned = ''] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  const base = bases.find(([prefix]) => prefix.test(unsigned));
  if (base === undefined) return undefined;
  const [prefix, form, prefixOfBigInt] = base;
  const rest = unsigned.replace(prefix, '');
  if (!form.test(rest)) return undefined;
  const magnitude = BigInt(prefixOfBigInt + rest.replaceAll('_', ''));
  const value = sign === '-' ? -magnitude : magnitude;
  return BigInt.asIntN(bits, value) === value ? value : undefined;
}
