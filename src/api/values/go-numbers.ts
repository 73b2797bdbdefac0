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

/** A decimal number as a 32-bit float. Returns undefined for any other text, and for a number that is too large. */
export function parseFloat32(text: string): number | undefined {
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return undefined;
  const float = Math.fround(Number(text));
  return Number.isFinite(float) ? float : undefined;
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
