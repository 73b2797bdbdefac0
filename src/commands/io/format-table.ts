import { visible } from '../../visible-text.ts';

const gap = '   ';

/**
 * Rows as aligned columns, three spaces apart, as by kubectl, without trailing spaces. Makes control characters
 * visible.
 */
export async function formatTable(rows: readonly (readonly string[])[]): Promise<string> {
  const texts = rows.map((row) => row.map(visible));
  const widthOf = await measureFor(texts.flat());
  const widths: number[] = [];
  for (const row of texts) {
    for (const [column, text] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, widthOf(text));
  }
  const padded = (text: string, column: number): string =>
    text + ' '.repeat(Math.max(0, (widths[column] ?? 0) - widthOf(text)));
  return texts.map((row) => `${row.map(padded).join(gap).trimEnd()}\n`).join('');
}

/** Columns on a terminal. The library is loaded only if needed, because its tables of Unicode take 25 ms to load. */
async function measureFor(texts: readonly string[]): Promise<(text: string) => number> {
  if (texts.every((text) => /^[ -~]*$/.test(text))) return (text) => text.length;
  return (await import('widest-line')).default;
}
