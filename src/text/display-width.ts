import widestLine from 'widest-line';

/** ASCII, arrows, lines, bars and `…`, which is what most text on a screen consists of. */
const narrow = /^[\x20-\x7e\u2190-\u2193\u2500-\u259f\u2026]*$/;

/** True if each character takes one column in every terminal. */
export function isNarrow(text: string): boolean {
  return narrow.test(text);
}

/** Returns the number of columns that a terminal needs for a text. */
export function displayWidth(text: string): number {
  return isNarrow(text) ? text.length : widestLine(text);
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Returns the longest prefix of `text` that fits `width` columns. */
export function beginningOf(text: string, width: number): string {
  let kept = '';
  let keptWidth = 0;
  for (const { segment } of graphemes.segment(text)) {
    keptWidth += displayWidth(segment);
    if (keptWidth > width) break;
    kept += segment;
  }
  return kept;
}

/**
 * Returns the longest prefix of `text` that fits `width` columns, ending in `…` if it was cut. cli-truncate returns one
 * column too many if the cut is within a wide character.
 */
export function truncateToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  return width > 0 ? `${beginningOf(text, width - 1)}…` : '';
}

/** Returns exactly `width` columns: cut or padded with spaces. */
export function fitToWidth(text: string, width: number): string {
  const cut = truncateToWidth(text, width);
  return cut + ' '.repeat(Math.max(0, width - displayWidth(cut)));
}
