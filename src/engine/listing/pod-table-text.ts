import { formatTable } from '../../format-table.ts';
import type { PodTable } from './pod-table.ts';

/** The output of a command. */
export interface Texts {
  stdout: string;
  stderr: string;
}

/** The table for an output that is no terminal. */
export async function podTableText({ columns, rows }: PodTable, { headers }: { headers: boolean }): Promise<string> {
  if (rows.length === 0) return emptyText(headers);
  return formatTable([...(headers ? [columns] : []), ...rows.map(({ cells }) => cells)]);
}

/** In place of a table without rows. */
export const emptyText = (headers: boolean): string => (headers ? 'No pods.\n' : '');

export const linesText = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
