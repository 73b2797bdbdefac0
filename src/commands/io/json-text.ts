import { visibleJSON } from '../../visible-text.ts';

/** A value as JSON with a line end. Escapes characters that could control a terminal. */
export function jsonText(value: unknown, indent: number): string {
  return `${visibleJSON(JSON.stringify(value, undefined, indent))}\n`;
}
