import { isPlain, visible } from './visible-text.ts';
import { alignTable, type Letters, plainLetters, type TableOptions } from './align-table.ts';

/** Rows as aligned columns, by `alignTable`. Makes control characters visible. */
export async function formatTable(rows: readonly (readonly string[])[], options: TableOptions = {}): Promise<string> {
  const texts = rows.map((row) => row.map(visible));
  return alignTable(texts, await lettersOf(texts.flat()), options);
}

/** Widths are loaded only if needed, because the library's tables of Unicode take 25 ms to load. */
async function lettersOf(texts: readonly string[]): Promise<Letters> {
  if (texts.every(isPlain)) return plainLetters;
  const { displayWidth: widthOf, beginningOf } = await import('./display-width.ts');
  return { widthOf, beginningOf };
}
