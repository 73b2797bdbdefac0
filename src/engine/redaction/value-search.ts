import { formsOf } from './secret-forms.ts';

/** Shorter values match only where no letter or digit is next to them. Shorter parts of a value never match. */
const minLength = 8;
/** Every value has at least this many characters. */
const keyLength = 4;
/** A text of at least this length may have been cut in the middle of a value. */
const minCutLength = 1000;
/** A longer value is found only by its first characters, and in no other form. */
const maxSearchLength = 64 * 1024;
/** How many characters may be compared. Only highly repetitive texts and values need more. */
const maxSteps = 4_000_000;

/** A part of a text, from one offset to another. */
interface TextRange {
  from: number;
  to: number;
}

interface Needle {
  text: string;
  /** How many characters to redact where the text is found. */
  length: number;
}

/**
 * Finds many values in one text. At each offset it compares only the values that begin with the four characters there.
 */
export class ValueSearch {
  private readonly byBeginning = new Map<string, Needle[]>();

  constructor(private readonly values: readonly string[]) {
    // The longest come first.
    for (const needle of values.flatMap(needlesOf).sort((a, b) => b.length - a.length)) {
      const key = needle.text.slice(0, keyLength);
      const needles = this.byBeginning.get(key);
      if (needles === undefined) this.byBeginning.set(key, [needle]);
      else needles.push(needle);
    }
  }

  /**
   * Returns where the values are, in order, without overlaps. After `maxSteps` the rest of the text counts as a value.
   * Ignores values for which `isPublic` is true.
   */
  rangesIn(text: string, isPublic: (value: string) => boolean): TextRange[] {
    const budget = { steps: maxSteps };
    const head = text.length < minCutLength ? 0 : this.lengthOfCutHead(text, budget);
    const ranges: TextRange[] = head === 0 ? [] : [{ from: 0, to: head }];
    for (let at = 0; at <= text.length - keyLength; at += 1) {
      const to = this.endOfMatch(text, at, budget, isPublic);
      if (to === undefined) continue;
      const last = ranges.at(-1);
      if (last !== undefined && at < last.to) last.to = Math.max(last.to, to);
      else ranges.push({ from: at, to });
      if (to === text.length) break;
    }
    return ranges;
  }

  /**
   * Returns the end of the longest value that begins at this offset, or the end of the text if it was cut within a
   * value.
   */
  private endOfMatch(
    text: string,
    at: number,
    budget: { steps: number },
    isPublic: (value: string) => boolean,
  ): number | undefined {
    for (const needle of this.byBeginning.get(text.slice(at, at + keyLength)) ?? []) {
      const same = sameLength(text, at, needle.text);
      budget.steps -= same;
      if (budget.steps < 0) return text.length;
      const end = at + same;
      if (same === needle.text.length) {
        const isFound = same >= minLength || standsAlone(text, at, end);
        if (isFound && !isPublic(needle.text)) return Math.min(at + needle.length, text.length);
      } else if (end === text.length && same >= minLength && text.length >= minCutLength) {
        return end;
      }
    }
    return undefined;
  }

  /** Returns the length of the longest tail of a value at the beginning of the text. */
  private lengthOfCutHead(text: string, budget: { steps: number }): number {
    const beginning = text.slice(0, minLength);
    let longest = 0;
    for (const value of this.values) {
      for (let at = value.indexOf(beginning, 1); at > 0; at = value.indexOf(beginning, at + 1)) {
        const length = value.length - at;
        budget.steps -= length;
        if (length <= longest || (budget.steps >= 0 && !text.startsWith(value.slice(at)))) continue;
        longest = length;
        break;
      }
    }
    return longest;
  }
}

function needlesOf(value: string): Needle[] {
  if (value.length > maxSearchLength) return [{ text: value.slice(0, maxSearchLength), length: value.length }];
  return Array.from(formsOf(value), (text) => ({ text, length: text.length }));
}

/** Returns how many characters the needle shares with the text from `at` on. They share the first four. */
function sameLength(text: string, at: number, needle: string): number {
  const end = Math.min(needle.length, text.length - at);
  let length = keyLength;
  while (length < end && text.charCodeAt(at + length) === needle.charCodeAt(length)) length += 1;
  return length;
}

/** True if no letter or digit is next to this part of the text. */
function standsAlone(text: string, from: number, to: number): boolean {
  const [before, after] = [text.slice(Math.max(0, from - 2), from), text.slice(to, to + 2)];
  return !/[\p{L}\p{N}]$/u.test(before) && !/^[\p{L}\p{N}]/u.test(after);
}
