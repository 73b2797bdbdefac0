import displayWidth from 'widest-line';
import { visible } from '../visible-text.ts';

export { displayWidth };

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/**
 * The beginning of `text` that fits `width` columns, with `…` after a cut. cli-truncate returns one column too many if
 * the cut is within a wide character.
 */
export function truncateToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = '';
  let keptWidth = 0;
  for (const { segment } of graphemes.segment(text)) {
    keptWidth += displayWidth(segment);
    if (keptWidth > width - 1) break;
    kept += segment;
  }
  return width > 0 ? `${kept}…` : '';
}

/** Exactly `width` columns: cut or filled with blanks. */
export function fitToWidth(text: string, width: number): string {
  const cut = truncateToWidth(text, width);
  return cut + ' '.repeat(Math.max(0, width - displayWidth(cut)));
}

/**
 * `text` on one line, with blanks for line breaks. Other control characters are made visible, because texts of
 * containers and manifests must not control the terminal.
 */
export function printable(text: string): string {
  return visible(text.replace(/[\n\r\t]+/g, ' '));
}
