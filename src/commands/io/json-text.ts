import { visibleJSON } from '../../visible-text.ts';

/** A value as JSON that says the same and does nothing to a terminal, with a line end. */
export function jsonText(value: unknown, indent: number): string {
  return `${visibleJSON(JSON.stringify(value, undefined, indent))}\n`;
}
