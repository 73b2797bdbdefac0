import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

/** Colours a text, or returns it unchanged. */
export type Painter = (style: Style, text: string) => string;

/** A painter for a terminal with colours, or for anything else. */
export function paint(hasColours: boolean): Painter {
  return (style, text) => (hasColours ? styleText(style, text, { validateStream: false }) : text);
}
