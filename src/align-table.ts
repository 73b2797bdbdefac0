const gap = '   ';

export interface TableOptions {
  /** Width of the terminal. The last column is cut to fit. Not cut if undefined. */
  maxWidth?: number | undefined;
  /** Colours the cell of a row and a column, after it has its width. */
  style?: ((text: string, row: number, column: number) => string) | undefined;
}

/** How many columns of a terminal texts take. */
export interface Letters {
  widthOf: (text: string) => number;
  /** The beginning of a text that fits this many columns. */
  beginningOf: (text: string, width: number) => string;
}

/** Letters with one column each. */
export const plainLetters: Letters = {
  widthOf: (text) => text.length,
  beginningOf: (text, width) => text.slice(0, width),
};

/** Rows of visible texts as aligned columns, three spaces apart, as by kubectl, without trailing spaces. */
export function alignTable(
  texts: readonly (readonly string[])[],
  letters: Letters,
  { maxWidth, style = (text) => text }: TableOptions = {},
): string {
  const { widthOf } = letters;
  const widths: number[] = [];
  for (const row of texts) {
    for (const [column, text] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, widthOf(text));
  }
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + gap.length, 0);
  const room = Math.max(minLastColumn, (maxWidth ?? Infinity) - before);
  const cell = (text: string, column: number): string => {
    const isLast = column === widths.length - 1;
    return isLast ? cut(text, room, letters) : text + ' '.repeat(Math.max(0, (widths[column] ?? 0) - widthOf(text)));
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

/** Columns of a last column that are always shown. */
const minLastColumn = 16;

const cut = (text: string, room: number, { widthOf, beginningOf }: Letters): string =>
  widthOf(text) <= room ? text : `${beginningOf(text, room - 1).trimEnd()}…`;
