import { visible } from '../../visible-text.ts';
import { alignTable, isPlain, type TableOptions } from './align-table.ts';

/** Rows as aligned columns, by `alignTable`. Makes control characters visible. */
export async function formatTable(rows: readonly (readonly string[])[], options: TableOptions = {}): Promise<string> {
  const texts = rows.map((row) => row.map(visible));
  return alignTable(texts, await measureFor(texts.flat()), options);
}

/** Columns on a terminal. The library is loaded only if needed, because its tables of Unicode take 25 ms to load. */
async function measureFor(texts: readonly string[]): Promise<(text: string) => number> {
  if (texts.every(isPlain)) return (text) => text.length;
  return (await import('widest-line')).default;
}
