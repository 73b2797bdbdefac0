import { displayWidth, truncateToWidth } from '../text/display-width.ts';
import { printable } from '../text/visible-text.ts';
import type { Color, Palette } from './theme.ts';

/** A piece of a line in one style. */
export interface Span {
  text: string;
  color?: Color;
  bold?: boolean;
}

/** One row of the screen. */
export interface Line {
  spans: Span[];
  /** True to show it inverse over the whole width. */
  selected?: boolean;
}

/** A line of one style. */
export function textLine(text: string, style: Omit<Span, 'text'> = {}): Line {
  return { spans: [{ text, ...style }] };
}

/** The line in grey, for a past state. */
export function greyLine(line: Line): Line {
  return { ...line, spans: line.spans.map(({ text }) => ({ text, color: 'gray' })) };
}

/** The line as terminal text of at most `width` columns. Without a palette, only bold and inverse remain. */
export function styleLine(line: Line, width: number, palette: Palette | undefined): string {
  let rest = width;
  let styled = '';
  for (const span of line.spans) {
    if (rest <= 0) break;
    const text = truncateToWidth(printable(span.text), rest);
    rest -= displayWidth(text);
    styled += styleText(text, styleOf(span, line, palette));
  }
  return line.selected ? styled + styleText(' '.repeat(Math.max(0, rest)), inverse) : styled;
}

const inverse = '7';

const styleText = (text: string, style: string): string =>
  style === '' || text === '' ? text : `\u001b[${style}m${text}\u001b[0m`;

/** Parameters of the sequence for the style. Empty for none. */
function styleOf({ color, bold }: Span, { selected }: Line, palette: Palette | undefined): string {
  const parameters = [
    ...(bold ? ['1'] : []),
    // No colors in a selected line, because inverse colors become hard-to-read backgrounds.
    ...(selected ? [inverse] : palette !== undefined && color !== undefined ? [palette[color]] : []),
  ];
  return parameters.join(';');
}
