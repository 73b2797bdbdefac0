import { visible } from '../visible-text.ts';

const asciiOnly = /^[\x20-\x7e]*$/;
const doubleWidth =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Columns that `text` takes in a terminal: East Asian wide characters and emoji take two. */
export function displayWidth(text: string): number {
  if (asciiOnly.test(text)) {
    return text.length;
  }
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    width += graphemeWidth(segment);
  }
  return width;
}

/** The beginning of `text` that fits in `width` columns; a cut is shown by `…`. */
export function truncateToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) {
    return text;
  }
  let kept = '';
  let keptWidth = 0;
  for (const { segment } of graphemes.segment(text)) {
    keptWidth += graphemeWidth(segment);
    if (keptWidth > width - 1) {
      break;
    }
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

function graphemeWidth(grapheme: string): number {
  return doubleWidth.test(grapheme) ? 2 : 1;
}
