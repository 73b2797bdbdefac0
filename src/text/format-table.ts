import { isPlain, visible } from './visible-text.ts';

const gap = '   ';
/** Minimum width of the last column. */
const minLastColumn = 16;

interface TableOptions {
  /** Width of the terminal, to which the last column is cut. Nothing is cut if undefined. */
  maxWidth?: number | undefined;
  /** Colours the cell at this row and column. Called after the cell was cut or padded. */
  style?: ((text: string, row: number, column: number) => string) | undefined;
}

/**
 * Returns rows as aligned columns like kubectl's, three spaces apart, without trailing spaces. Makes control characters
 * visible.
 */
export async function formatTable(
  rows: readonly (readonly string[])[],
  { maxWidth, style = (text) => text }: TableOptions = {},
): Promise<string> {
  const texts = rows.map((row) => row.map(visible));
  const measure = await measureFor(texts.flat());
  const widths: number[] = [];
  for (const row of texts) {
    for (const [column, text] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, measure.widthOf(text));
  }
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + gap.length, 0);
  const room = Math.max(minLastColumn, (maxWidth ?? Infinity) - before);
  const cell = (text: string, column: number): string => {
    if (column === widths.length - 1) return cut(text, room, measure);
    return text + ' '.repeat(Math.max(0, (widths[column] ?? 0) - measure.widthOf(text)));
  };
  return texts
    .map((row, index) => {
      const cells = row.map(cell);
      const filled = cells.findLastIndex((text) => text.trim() !== '') + 1;
      const shown = cells.slice(0, filled).map((text, column) => (column === filled - 1 ? text.trimEnd() : text));
      return `${shown.map((text, column) => style(text, index, column)).join(gap)}\n`;
    })
    .join('');
}

/** Measures how many terminal columns a text needs. */
interface Measure {
  widthOf: (text: string) => number;
  /** Returns the longest prefix of a text that fits this many columns. */
  beginningOf: (text: string, width: number) => string;
}

/** Loads the library only for non-ASCII text, because its Unicode tables take 25 ms to load. */
async function measureFor(texts: readonly string[]): Promise<Measure> {
  if (texts.every(isPlain))
    return { widthOf: (text) => text.length, beginningOf: (text, width) => text.slice(0, width) };
  const { displayWidth: widthOf, beginningOf } = await import('./display-width.ts');
  return { widthOf, beginningOf };
}

const cut = (text: string, room: number, { widthOf, beginningOf }: Measure): string =>
  widthOf(text) <= room ? text : `${beginningOf(text, room - 1).trimEnd()}…`;
