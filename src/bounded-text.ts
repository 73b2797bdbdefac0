/** What stands in the place of the end of a text. */
const markPattern = / … (\d+) bytes left out$/;

/**
 * The beginning of a text in whole characters, `maxBytes` of UTF-8 at most, and how much of it is left out: of what came here
 * too, when that was cut already or `leftOutBytes` says so. A text that fits stays as it is.
 */
export function boundedText(text: string, maxBytes: number, leftOutBytes = 0): string {
  if (leftOutBytes === 0 && fits(text, maxBytes)) return text;
  const mark = markPattern.exec(text);
  const whole = mark === null ? text : text.slice(0, mark.index);
  const kept = firstBytes(whole, maxBytes);
  const left = Number(mark?.[1] ?? 0) + leftOutBytes + Buffer.byteLength(whole) - Buffer.byteLength(kept);
  return left === 0 ? kept : `${kept} … ${left} bytes left out`;
}

/** The text without what `boundedText` added to it, and that. */
export function splitMark(text: string): { whole: string; mark: string } {
  const mark = markPattern.exec(text)?.[0] ?? '';
  return { whole: text.slice(0, text.length - mark.length), mark };
}

/** The longest beginning of whole characters within `maxBytes`. */
export function firstBytes(text: string, maxBytes: number): string {
  if (fits(text, maxBytes)) return text;
  // No character has less than a byte.
  const { read } = new TextEncoder().encodeInto(text.slice(0, maxBytes), new Uint8Array(maxBytes));
  const kept = text.slice(0, read);
  return /[\ud800-\udbff]$/.test(kept) ? kept.slice(0, -1) : kept;
}

/** No character of a string has more than three bytes for each of its units. */
function fits(text: string, maxBytes: number): boolean {
  return text.length * 3 <= maxBytes || (text.length <= maxBytes && Buffer.byteLength(text) <= maxBytes);
}
