import { LongestPrefix } from './longest-prefix.ts';
import { LowestFirst } from './lowest-first.ts';
import { isAfterWord, isBeforeWord, minNeedleLength } from './stands-alone.ts';
import type { TextRange } from './text-ranges.ts';

/** Places of `beginnings`. */
const beginningsSize = 2 ** 18;
/** Every needle has at least so many characters. */
const beginningLength = 4;

/**
 * Finds many needles in one text. A text of n characters takes O(n log² n) steps. The number and the lengths of the
 * needles hardly count.
 */
export class NeedleIndex {
  /** The shortest first: the number of a needle is 1 more than its place. */
  private readonly lengths: Int32Array;
  private readonly prefixes: LongestPrefix;
  /** Not 0 for the hash of the beginning of each needle. */
  private readonly beginnings = new Uint8Array(beginningsSize);

  /** The texts are distinct and have at least four characters. */
  constructor(texts: readonly string[]) {
    const needles = [...texts].sort((a, b) => b.length - a.length).reverse();
    this.lengths = Int32Array.from(needles, ({ length }) => length);
    this.prefixes = new LongestPrefix(needles);
    for (const text of needles) this.beginnings[beginningAt(text, 0)] = 1;
  }

  /** Where needles are, as if one after the other was replaced, longest first. No two ranges overlap. */
  rangesIn(text: string): readonly TextRange[] {
    const first = this.nextBeginning(text, 0);
    if (first === undefined) return [];
    const hashes = this.prefixes.hashesOf(text);
    // A number for each place: the needle that is tried there next, then the place. A longer needle comes first.
    const tries = new LowestFirst();
    const tryAt = (at: number, end: number): void => {
      const number = this.prefixes.longestAt(hashes, at, end);
      if (number > 0) tries.push((this.lengths.length - number) * text.length + at);
    };
    for (let at: number | undefined = first; at !== undefined; at = this.nextBeginning(text, at + 1)) {
      tryAt(at, text.length);
    }
    const taken = new TakenPlaces(text);
    for (let next = tries.pop(); next !== undefined; next = tries.pop()) {
      const rank = Math.floor(next / text.length);
      const at = next - rank * text.length;
      const number = this.lengths.length - rank;
      // A place is tried again at most log n times: each needle in its way at least halves the room.
      const end = taken.take(number, at, at + (this.lengths[number - 1] ?? 0));
      if (end - at >= beginningLength) tryAt(at, end);
    }
    return taken.ranges;
  }

  /** The first place from this one on where a needle may begin. */
  private nextBeginning(text: string, from: number): number | undefined {
    for (let at = from; at <= text.length - beginningLength; at += 1) {
      if (this.beginnings[beginningAt(text, at)] !== 0) return at;
    }
    return undefined;
  }
}

interface TakenRange extends TextRange {
  needle: number;
}

/** Places of a text that a needle has taken. No other needle gets any of these. */
class TakenPlaces {
  /** By place: 1 more than the index of its range, or 0. */
  private readonly owners: Int32Array;
  readonly ranges: TakenRange[] = [];

  constructor(private readonly text: string) {
    this.owners = new Int32Array(text.length);
  }

  /**
   * Needles come longest first, so a range that overlaps one before it holds an end of that. Returns where a shorter
   * needle must end that may still fit here. Returns `from` if none may.
   */
  take(needle: number, from: number, to: number): number {
    if (this.owners[from] !== 0) return from;
    const inTheWay = this.rangeAt(to - 1);
    if (inTheWay !== undefined) return inTheWay.from;
    if (to - from < minNeedleLength && !this.standsAlone(from, to, needle)) return to - 1;
    this.ranges.push({ from, to, needle });
    this.owners.fill(this.ranges.length, from, to);
    return from;
  }

  private rangeAt(at: number): TakenRange | undefined {
    return this.ranges[(this.owners[at] ?? 0) - 1];
  }

  /** Each place is decided alone: another place of the same needle counts as text, that of another needle does not. */
  private standsAlone(from: number, to: number, needle: number): boolean {
    const isShown = (at: number): boolean => (this.rangeAt(at)?.needle ?? needle) === needle;
    if (isShown(from - 1) && isAfterWord(this.text, from)) return false;
    return !(isShown(to) && isBeforeWord(this.text, to));
  }
}

function beginningAt(text: string, at: number): number {
  let hash = 0;
  for (let index = at; index < at + beginningLength; index += 1) hash = Math.imul(hash, 61) + text.charCodeAt(index);
  return (hash ^ (hash >>> 18)) & (beginningsSize - 1);
}
