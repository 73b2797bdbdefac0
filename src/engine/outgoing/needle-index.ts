import { isAfterWord, isBeforeWord, minNeedleLength } from './stands-alone.ts';
import type { TextRange } from './text-ranges.ts';

/** Longer needles are few, and are looked for one by one. */
const maxIndexedLength = 512;
/** Places of `beginnings`. */
const beginningsSize = 2 ** 18;
/** Every needle has at least so many characters. */
const beginningLength = 4;

/** A text to look for. */
interface Needle {
  text: string;
  /** Place among all needles, longest first. The longest is replaced first, because another may be a part of it. */
  rank: number;
  /** The longest needle that this one begins with. */
  prefix: Needle | undefined;
}

/** Finds many texts in one text. The work depends on the length of the text, hardly on the number of needles. */
export class NeedleIndex {
  private readonly long: readonly Needle[];
  /** In the order of their characters. */
  private readonly sorted: readonly Needle[];
  /** Not 0 for the hash of the beginning of each indexed needle. */
  private readonly beginnings = new Uint8Array(beginningsSize);

  /** The texts are distinct and have at least four characters. */
  constructor(texts: readonly string[]) {
    const needles = [...texts]
      .sort((a, b) => b.length - a.length)
      .map((text, rank): Needle => ({ text, rank, prefix: undefined }));
    this.long = needles.filter(({ text }) => text.length > maxIndexedLength);
    this.sorted = needles.slice(this.long.length).sort((a, b) => (a.text < b.text ? -1 : 1));
    linkPrefixes(this.sorted);
    for (const { text } of this.sorted) this.beginnings[beginningAt(text, 0)] = 1;
  }

  /** Where needles are, as if one after the other was replaced, longest first. No two ranges overlap. */
  rangesIn(text: string): readonly TextRange[] {
    const taken = new TakenPlaces(text);
    for (const needle of this.long) if (needle.text.length <= text.length) takeAll(taken, text, needle);
    const places = this.longestByPlace(text);
    for (const needle of presentNeedles(places)) {
      for (const at of (places.get(needle) ?? []).sort((a, b) => a - b)) {
        if (taken.take(needle, at) || taken.isTaken(at) || needle.prefix === undefined) continue;
        // A shorter needle that ends before the place that is taken may fit.
        addPlace(places, needle.prefix, at);
      }
    }
    return taken.ranges;
  }

  /** Where needles begin, by the longest needle there. */
  private longestByPlace(text: string): Map<Needle, number[]> {
    const places = new Map<Needle, number[]>();
    for (let at = 0; at <= text.length - beginningLength; at += 1) {
      if (this.beginnings[beginningAt(text, at)] === 0) continue;
      const needle = this.longestAt(text, at);
      if (needle !== undefined) addPlace(places, needle, at);
    }
    return places;
  }

  private longestAt(text: string, at: number): Needle | undefined {
    let [low, high] = [0, this.sorted.length];
    let before: Needle | undefined;
    let shared = 0;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const needle = this.sorted[middle];
      const length = sharedLength(needle?.text ?? '', text, at);
      if (needle !== undefined && isBefore(needle.text, text, at, length)) {
        low = middle + 1;
        before = needle;
        shared = length;
      } else {
        high = middle;
      }
    }
    // Each needle at this place is `before`, or `before` begins with it.
    while (before !== undefined && before.text.length > shared) before = before.prefix;
    return before;
  }
}

/** Places of a text that a needle has taken. No other needle gets any of these. */
class TakenPlaces {
  /** By place: 1 more than the rank of its needle, or 0. */
  private readonly ranks: Int32Array;
  readonly ranges: TextRange[] = [];

  constructor(private readonly text: string) {
    this.ranks = new Int32Array(text.length);
  }

  /** Needles come longest first, so a range that overlaps one before it holds an end of that. */
  take({ text, rank }: Needle, from: number): boolean {
    const to = from + text.length;
    if (this.ranks[from] !== 0 || this.ranks[to - 1] !== 0) return false;
    if (text.length < minNeedleLength && !this.standsAlone(from, to, rank)) return false;
    this.ranks.fill(rank + 1, from, to);
    this.ranges.push({ from, to });
    return true;
  }

  isTaken(at: number): boolean {
    return this.ranks[at] !== 0;
  }

  /** Where the taken places around this one end. Returns the place itself if it is not taken. */
  endOf(at: number): number {
    let end = at;
    while (end < this.ranks.length && this.ranks[end] !== 0) end += 1;
    return end;
  }

  /** Each place is decided alone: another place of the same needle counts as text, that of another needle does not. */
  private standsAlone(from: number, to: number, rank: number): boolean {
    const isShown = (at: number): boolean => this.ranks[at] === 0 || this.ranks[at] === rank + 1;
    if (isShown(from - 1) && isAfterWord(this.text, from)) return false;
    return !(isShown(to) && isBeforeWord(this.text, to));
  }
}

function takeAll(taken: TakenPlaces, text: string, needle: Needle): void {
  const { length } = needle.text;
  for (let at = text.indexOf(needle.text); at >= 0;) {
    // Where it does not fit, what is in its way ends behind its start.
    const next = taken.take(needle, at) ? at + length : Math.max(taken.endOf(at), taken.endOf(at + length - 1));
    at = text.indexOf(needle.text, next);
  }
}

function addPlace(places: Map<Needle, number[]>, needle: Needle, at: number): void {
  const known = places.get(needle);
  if (known === undefined) places.set(needle, [at]);
  else known.push(at);
}

/** The needles of these places and those that they begin with, longest first. */
function presentNeedles(places: ReadonlyMap<Needle, unknown>): Needle[] {
  const present = new Set<Needle>();
  for (const longest of places.keys()) {
    for (let needle: Needle | undefined = longest; needle !== undefined; needle = needle.prefix) {
      if (present.has(needle)) break;
      present.add(needle);
    }
  }
  return [...present].sort((a, b) => a.rank - b.rank);
}

function linkPrefixes(sorted: readonly Needle[]): void {
  let before: Needle | undefined;
  for (const needle of sorted) {
    while (before !== undefined && !needle.text.startsWith(before.text)) before = before.prefix;
    needle.prefix = before;
    before = needle;
  }
}

function beginningAt(text: string, at: number): number {
  let hash = 0;
  for (let index = at; index < at + beginningLength; index += 1) hash = Math.imul(hash, 61) + text.charCodeAt(index);
  return (hash ^ (hash >>> 18)) & (beginningsSize - 1);
}

/** How many characters of `needle` are in the text from this place on. */
function sharedLength(needle: string, text: string, at: number): number {
  const end = Math.min(needle.length, text.length - at);
  let length = 0;
  while (length < end && needle.charCodeAt(length) === text.charCodeAt(at + length)) length += 1;
  return length;
}

/** True if `needle` is at this place, or comes before the text from there on in the order of characters. */
function isBefore(needle: string, text: string, at: number, shared: number): boolean {
  if (shared === needle.length) return true;
  return at + shared < text.length && needle.charCodeAt(shared) < text.charCodeAt(at + shared);
}
