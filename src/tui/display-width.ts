import displayWidth from 'widest-line';
import { visible } from '../visible-text.ts';

export { displayWidth };

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/**
 * The beginning of `text` that fits in `width` columns; a cut is shown by `…`. cli-truncate is no help here: it returns one
 * column too many where the cut is in the middle of a wide character.
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
 * `text` on one line, with blanks for line breaks and nothing else that could steer the terminal. Messages come from
 * containers and manifests, and must not move the cursor or reverse the text of the screen.
 */
export function printable(text: string): string {
  return visible(text.replace(/[\n\r\t]+/g, ' '));
}
