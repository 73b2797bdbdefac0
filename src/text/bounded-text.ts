/** The mark that replaces the rest of a text. */
const markPattern = / \u2026 (\d+) bytes left out$/;

/**
 * Shortens a text to `maxBytes` of UTF-8, in whole characters, and appends the number of bytes left out. The number
 * includes bytes that were cut earlier, according to the text's existing mark or `leftOutBytes`. A text that fits stays
 * unchanged.
 */
export function boundedText(text: string, maxBytes: number, leftOutBytes = 0): string {
  if (leftOutBytes === 0 && fits(text, maxBytes)) return text;
  const mark = markPattern.exec(text);
  const whole = mark === null ? text : text.slice(0, mark.index);
  const kept = firstBytes(whole, maxBytes);
  const left = Number(mark?.[1] ?? 0) + leftOutBytes + Buffer.byteLength(whole) - Buffer.byteLength(kept);
  return left === 0 ? kept : `${kept} … ${left} bytes left out`;
}

/** Splits off the mark that `boundedText` appended. */
export function splitMark(text: string): { whole: string; mark: string } {
  const mark = markPattern.exec(text)?.[0] ?? '';
  return { whole: text.slice(0, text.length - mark.length), mark };
}

/** Returns the longest prefix of whole characters within `maxBytes`. */
export function firstBytes(text: string, maxBytes: number): string {
  if (fits(text, maxBytes)) return text;
  // Every character has at least one byte.
  const { read } = new TextEncoder().encodeInto(text.slice(0, maxBytes), new Uint8Array(maxBytes));
  const kept = text.slice(0, read);
  return /[\ud800-\udbff]$/.test(kept) ? kept.slice(0, -1) : kept;
}

/** Tries a fast check first: no UTF-16 unit needs more than three bytes. */
function fits(text: string, maxBytes: number): boolean {
  return text.length * 3 <= maxBytes || (text.length <= maxBytes && Buffer.byteLength(text) <= maxBytes);
}
