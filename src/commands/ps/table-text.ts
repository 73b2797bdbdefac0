import type { PodTable } from '../../engine/listing/pod-table.ts';
import type { OutputStream } from '../io/deps.ts';
import type { Painter } from '../io/paint.ts';

/** The parts of an output that tell how wide a line is, and whether it has colours. */
export type Terminal = Pick<OutputStream, 'isTTY' | 'columns'>;

/** The cells of a table with its header, and how they are printed. */
export interface PrintedTable {
  rows: string[][];
  style: (text: string, row: number, column: number) => string;
  maxWidth: number | undefined;
}

/** Prepares a table for an output. */
export async function printedTable(
  { columns, rows }: PodTable,
  { headers, stdout }: { headers: boolean; stdout: Terminal },
): Promise<PrintedTable> {
  const paint = await painterFor(stdout);
  const first = headers ? 1 : 0;
  return {
    rows: [...(headers ? [columns] : []), ...rows.map(({ cells }) => cells)],
    style: (text, row, column) => {
      const colour = row < first ? 'bold' : columns[column] === 'STATUS' ? rows[row - first]?.colour : undefined;
      return colour === undefined ? text : paint(colour, text);
    },
    maxWidth: stdout.isTTY === true ? stdout.columns : undefined,
  };
}

/** Loads what colours need only for a terminal. */
async function painterFor(stdout: Terminal): Promise<Painter> {
  if (stdout.isTTY !== true) return (_style, text) => text;
  const [{ paint }, { isColoured }] = await Promise.all([import('../io/paint.ts'), import('../io/terminal.ts')]);
  return paint(isColoured(stdout));
}
