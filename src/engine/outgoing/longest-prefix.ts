import { randomInt } from 'node:crypto';
import { firstPrime, firstRemainder, secondPrime, secondRemainder, TextHashes } from './text-hashes.ts';

/** No hash of a text. */
const free = -1;

/**
 * Finds the longest of many texts that begins at a place of another text, in about as many steps as the length of the
 * longest has binary digits. A text of 13 characters is known by the hashes of its first 8, 12 and 13: the search goes
 * on from one to the next. Each hash leads to the longest text that is a beginning of these characters.
 */
export class LongestPrefix {
  private readonly base = randomInt(2 ** 24, secondPrime);
  /** By binary digit of a length: the base to the power of it. */
  private readonly powers: readonly [Int32Array, Int32Array];
  private readonly highestDigit: number;
  /** A table of hashes, each at the first free place from its own: their first halves, then their second. */
  private readonly first: Int32Array;
  private readonly second: Int32Array;
  /** By place in the table: a number of a text, or 0 if the hash is only on the way to longer ones. */
  private readonly numbers: Int32Array;

  /** The texts are distinct, the shortest first. They count from 1. */
  constructor(texts: readonly string[]) {
    const maxLength = texts.at(-1)?.length ?? 0;
    this.highestDigit = maxLength === 0 ? -1 : 31 - Math.clz32(maxLength);
    this.powers = [powersOf(this.base, firstRemainder), powersOf(this.base, secondRemainder)];
    const hashes = texts.reduce((count, { length }) => count + oneDigits(length), 0);
    const size = 2 ** (33 - Math.clz32(hashes));
    this.first = new Int32Array(size).fill(free);
    this.second = new Int32Array(size);
    this.numbers = new Int32Array(size);
    const beginnings = new TextHashes(this.base, maxLength);
    for (const [index, text] of texts.entries()) this.add(beginnings.read(text), text.length, index + 1);
  }

  /** What `longestAt` needs of a text. */
  hashesOf(text: string): TextHashes {
    return new TextHashes(this.base, text.length).read(text);
  }

  /** The number of the longest text that begins at `from` and ends by `to`. Returns 0 if none of the texts does. */
  longestAt({ first, second }: TextHashes, from: number, to: number): number {
    const [firstPowers, secondPowers] = this.powers;
    let longest = 0;
    let end = from;
    // The hash before the place, as it counts in a hash that ends at `end`.
    let firstBefore = first[from] ?? 0;
    let secondBefore = second[from] ?? 0;
    for (let digit = this.highestDigit; digit >= 0; digit -= 1) {
      const next = end + (1 << digit);
      if (next > to) continue;
      const nextFirst = firstRemainder(firstBefore * (firstPowers[digit] ?? 0));
      const nextSecond = secondRemainder(secondBefore * (secondPowers[digit] ?? 0));
      const place = this.placeOf(
        difference(first[next] ?? 0, nextFirst, firstPrime),
        difference(second[next] ?? 0, nextSecond, secondPrime),
      );
      if (this.first[place] === free) continue;
      longest = this.numbers[place] ?? 0;
      end = next;
      firstBefore = nextFirst;
      secondBefore = nextSecond;
    }
    return longest;
  }

  private add(beginnings: TextHashes, length: number, number: number): void {
    let end = 0;
    for (let digit = this.highestDigit; digit >= 0; digit -= 1) {
      if ((length & (1 << digit)) === 0) continue;
      end += 1 << digit;
      const [first, second] = [beginnings.first[end] ?? 0, beginnings.second[end] ?? 0];
      const place = this.placeOf(first, second);
      if (this.first[place] !== free) continue;
      // All shorter texts are there.
      this.numbers[place] = end === length ? number : this.longestAt(beginnings, 0, end);
      this.first[place] = first;
      this.second[place] = second;
    }
  }

  /** Where the hash is in the table, or would be. */
  private placeOf(first: number, second: number): number {
    const last = this.first.length - 1;
    for (let place = first & last; ; place = (place + 1) & last) {
      const other = this.first[place];
      if (other === free || (other === first && this.second[place] === second)) return place;
    }
  }
}

const difference = (a: number, b: number, prime: number): number => (a < b ? a - b + prime : a - b);

function powersOf(base: number, remainder: (value: number) => number): Int32Array {
  const powers = new Int32Array(31);
  for (let [digit, power] = [0, base]; digit < powers.length; digit += 1, power = remainder(power * power)) {
    powers[digit] = power;
  }
  return powers;
}

function oneDigits(value: number): number {
  let count = 0;
  for (let rest = value; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}
