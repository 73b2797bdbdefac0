import { goQuote } from './go-quote.ts';

const atoiForm = /^[+-]?\d+$/;
const trueTexts = ['1', 't', 'T', 'TRUE', 'true', 'True'];
const falseTexts = ['0', 'f', 'F', 'FALSE', 'false', 'False'];

/** An integer as Go's strconv.Atoi reads it. Throws an `Error` with Go's message. */
export function parseGoInt(text: string): number {
  if (!atoiForm.test(text)) throw new Error(`strconv.Atoi: parsing ${goQuote(text)}: invalid syntax`);
  if (BigInt.asIntN(64, BigInt(text.replace(/^\+/, ''))) !== BigInt(text.replace(/^\+/, ''))) {
    throw new Error(`strconv.Atoi: parsing ${goQuote(text)}: value out of range`);
  }
  return Number(text);
}

/** A truth value as Go's strconv.ParseBool reads it. Throws an `Error` with Go's message. */
export function parseGoBool(text: string): boolean {
  if (trueTexts.includes(text)) return true;
  if (falseTexts.includes(text)) return false;
  throw new Error(`strconv.ParseBool: parsing ${goQuote(text)}: invalid syntax`);
}
