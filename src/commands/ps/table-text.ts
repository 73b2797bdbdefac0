import type { PodTable } from '../../engine/listing/pod-table.ts';
import { formatTable } from '../../text/format-table.ts';
import type { OutputStream } from '../io/deps.ts';
import type { Painter } from '../io/paint.ts';

/** Formats a table for an output: if that is a terminal, with colours and cut to its width. */
export async function tableText(
  { columns, rows }: PodTable,
  { headers, stdout }: { headers: boolean; stdout: OutputStream },
): Promise<string> {
  if (rows.length === 0) return headers ? 'No pods.\n' : '';
  const paint = await painterFor(stdout);
  const first = headers ? 1 : 0;
  return formatTable([...(headers ? [columns] : []), ...rows.map(({ cells }) => cells)], {
    style: (text, row, column) => {
      const colour = row < first ? 'bold' : columns[column] === 'STATUS' ? rows[row - first]?.colour : undefined;
      return colour === undefined ? text : paint(colour, text);
    },
    maxWidth: stdout.isTTY === true ? stdout.columns : undefined,
  });
}

/** Loads the colours only for a terminal. */
async function painterFor(stdout: OutputStream): Promise<Painter> {
  if (stdout.isTTY !== true) return (_style, text) => text;
  const [{ paint }, { isColoured }] = await Promise.all([import('../io/paint.ts'), import('../io/terminal.ts')]);
  return paint(isColoured(stdout));
}
