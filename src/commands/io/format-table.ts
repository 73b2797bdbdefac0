import Table from 'cli-table3';
import { visible } from '../../visible-text.ts';

const noBorders = Object.fromEntries(
  [
    ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
    ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'],
  ].map((part) => [part, '']),
);

/**
 * Rows as aligned columns, three spaces apart, as by kubectl, without trailing spaces. Makes control characters
 * visible.
 */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const table = new Table({
    chars: { ...noBorders, middle: '   ' },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  table.push(...rows.map((row) => row.map(visible)));
  return table
    .toString()
    .split('\n')
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}
