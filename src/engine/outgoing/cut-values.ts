import { minNeedleLength } from './stands-alone.ts';
import type { TextRange } from './text-ranges.ts';

/** Compared characters for each end of a text. A text has more only if it and a value repeat themselves on and on. */
const maxSteps = 4_000_000;
/** Places of `beginnings`. */
const beginningsSize = 2 ** 16;

/** Finds the parts of values at the beginning and the end of a text that was cut within them. */
export class CutValues {
  private readonly atEnd: CutBeginnings;
  private readonly atBeginning: CutBeginnings;

  constructor(values: readonly string[]) {
    const long = values.filter(({ length }) => length > minNeedleLength);
    this.atEnd = new CutBeginnings(long, false);
    this.atBeginning = new CutBeginnings(long, true);
  }

  /** At most one range at each end. A part below eight characters does not count. */
  rangesIn(text: string): TextRange[] {
    const head = this.atBeginning.lengthIn(text);
    const tail = this.atEnd.lengthIn(text);
    return [
      ...(head > 0 ? [{ from: 0, to: head }] : []),
      ...(tail > 0 ? [{ from: text.length - tail, to: text.length }] : []),
    ];
  }
}

/** Beginnings of values at the end of a text. `isBackwards`: all of them are read from their end. */
class CutBeginnings {
  private readonly sorted: readonly string[];
  private readonly maxLength: number;
  /** Not 0 for the hash of the first eight characters of each value. */
  private readonly beginnings = new Uint8Array(beginningsSize);

  constructor(
    values: readonly string[],
    private readonly isBackwards: boolean,
  ) {
    this.sorted = [...values].sort((a, b) => {
      const same = this.sameLength(a, b, 0, 0);
      return this.characterAt(a, same) - this.characterAt(b, same);
    });
    this.maxLength = values.reduce((longest, { length }) => Math.max(longest, length), 0);
    for (const value of values) this.beginnings[this.beginningAt(value, 0)] = 1;
  }

  /**
   * Length of the longest part of a value that begins it, is not all of it, and ends the text. After `maxSteps`, the
   * text is compared no further: the next place where a value may begin counts as such a part. Returns 0 if no value
   * begins so near the end.
   */
  lengthIn(text: string): number {
    const steps = { left: maxSteps };
    const last = text.length - minNeedleLength;
    for (let at = Math.max(0, text.length - this.maxLength + 1); at <= last; at += 1) {
      if (this.beginnings[this.beginningAt(text, at)] === 0) continue;
      if (steps.left <= 0 || this.isBeginning(text, at, steps)) return text.length - at;
    }
    return 0;
  }

  /** True if a value goes on behind the text from this place. */
  private isBeginning(text: string, at: number, steps: { left: number }): boolean {
    const rest = text.length - at;
    let [low, high] = [0, this.sorted.length];
    // The values around the place in the order share so many characters with it, so all values between do.
    let [sameBelow, sameAbove] = [0, 0];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const value = this.sorted[middle] ?? '';
      const known = Math.min(sameBelow, sameAbove);
      const same = this.sameLength(value, text, known, at);
      steps.left -= same - known + 1;
      if (same === rest && value.length > rest) return true;
      if (this.characterAt(value, same) <= this.characterAt(text, at + same)) {
        low = middle + 1;
        sameBelow = same;
      } else {
        high = middle;
        sameAbove = same;
      }
    }
    return false;
  }

  /** How many characters the value shares with the text from `at` on. They share the first `known`. */
  private sameLength(value: string, text: string, known: number, at: number): number {
    const end = Math.min(value.length, text.length - at);
    let length = known;
    while (length < end && this.characterAt(value, length) === this.characterAt(text, at + length)) length += 1;
    return length;
  }

  private beginningAt(text: string, at: number): number {
    let hash = 0;
    for (let index = at; index < at + minNeedleLength; index += 1) {
      hash = Math.imul(hash, 61) + this.characterAt(text, index);
    }
    return (hash ^ (hash >>> 16)) & (beginningsSize - 1);
  }

  /** Returns -1 beyond the last character. */
  private characterAt(text: string, at: number): number {
    if (at >= text.length) return -1;
    return text.charCodeAt(this.isBackwards ? text.length - 1 - at : at);
  }
}
