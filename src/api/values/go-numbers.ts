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
