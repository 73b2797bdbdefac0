import { minNeedleLength, standsAlone } from './stands-alone.ts';
import { replaceRanges, type TextRange } from './text-ranges.ts';

/** No text is shorter. */
const minLength = 4;

/** Two different beginnings have the same hash by chance once in 2 ** 52. */
export type BeginningHash = number;

/** Hash of the first eight characters of a text, or of all of a shorter one. */
export function beginningHash(text: string, at = 0, length = Math.min(text.length, minNeedleLength)): BeginningHash {
  let high = length;
  let low = 0x811c9dc5;
  for (let index = at; index < at + length; index += 1) {
    const code = text.charCodeAt(index);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x5bd1e995);
    high ^= high >>> 15;
  }
  return (high >>> 12) * 2 ** 32 + (low >>> 0);
}

/** Texts that are known by a hash of their beginning only: eight bytes a text, because there may be millions. */
export class TextBeginnings {
  private readonly sorted: Float64Array;

  constructor(hashes: readonly BeginningHash[]) {
    this.sorted = new Float64Array(hashes).sort();
  }

  /**
   * The ranges from each beginning up to the end of its line. A text below eight characters counts alone, where it
   * stands alone. `hidden`: ranges of other texts, which count as blanks there.
   */
  rangesIn(text: string, hidden: readonly TextRange[]): TextRange[] {
    const ranges: TextRange[] = [];
    if (this.sorted.length === 0) return ranges;
    const shown = replaceRanges(text, hidden, (length) => ' '.repeat(length));
    for (let at = 0; at < text.length; at += 1) {
      const to = this.endOfMatch(text, shown, at);
      if (to === undefined) continue;
      ranges.push({ from: at, to });
      // A longer text may begin within a short one.
      if (to - at >= minNeedleLength) at = to - 1;
    }
    return ranges;
  }

  private endOfMatch(text: string, shown: string, at: number): number | undefined {
    const room = text.length - at;
    if (room >= minNeedleLength && this.has(beginningHash(text, at, minNeedleLength)))
      return endOfLine(text, at + minNeedleLength);
    for (let length = Math.min(room, minNeedleLength - 1); length >= minLength; length -= 1) {
      const isHere = this.has(beginningHash(text, at, length)) && standsAlone(shown, at, at + length);
      if (isHere) return at + length;
    }
    return undefined;
  }

  private has(hash: BeginningHash): boolean {
    let [low, high] = [0, this.sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.sorted[middle] ?? 0) < hash) low = middle + 1;
      else high = middle;
    }
    return this.sorted[low] === hash;
  }
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end < 0 ? text.length : end;
}
