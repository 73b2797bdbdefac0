/** Below 2 ** 25, so that a double holds each product of two remainders. */
export const firstPrime = 33_554_393;
export const secondPrime = 33_554_383;

/** The remainders of a whole number below 2 ** 51. Much faster than `%`. */
export const firstRemainder = (value: number): number =>
  // A half more, because the product may be a little too small.
  value - Math.floor((value + 0.5) * (1 / 33_554_393)) * 33_554_393;
export const secondRemainder = (value: number): number =>
  value - Math.floor((value + 0.5) * (1 / 33_554_383)) * 33_554_383;

/**
 * Hashes of every beginning of a text, as two polynomials of a random base: two different texts have the same hash by
 * chance once in 2 ** 49. The base is random, so that no Secret and no text can be made to collide.
 */
export class TextHashes {
  /** By length of the beginning. */
  readonly first: Int32Array;
  readonly second: Int32Array;

  constructor(
    private readonly base: number,
    maxLength: number,
  ) {
    this.first = new Int32Array(maxLength + 1);
    this.second = new Int32Array(maxLength + 1);
  }

  /** Replaces the text. It has at most `maxLength` characters. */
  read(text: string): this {
    const { base, first, second } = this;
    let [lastFirst, lastSecond] = [0, 0];
    for (let at = 0; at < text.length; at += 1) {
      // No character counts as 0, so the hash depends on the length.
      const character = text.charCodeAt(at) + 1;
      lastFirst = firstRemainder(lastFirst * base + character);
      lastSecond = secondRemainder(lastSecond * base + character);
      first[at + 1] = lastFirst;
      second[at + 1] = lastSecond;
    }
    return this;
  }
}
