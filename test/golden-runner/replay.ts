import { dirname } from 'node:path';
import { replayConfiguration } from './configuration-case.ts';
import type { Recording } from './deliberate-differences.ts';
import { recordedDifferences } from './differences.ts';
import type { GoldenFile, TableCase } from './golden-file.ts';
import { replayLogRotation } from './log-rotation-case.ts';
import { replayManifest } from './manifest-case.ts';
import { comparingCase, type Comparison, type Outcome, outcomeOf, type ReplayedCase } from './replay-case.ts';
import { replayStart } from './start-case.ts';
import type { TableAdapter } from './table-adapter.ts';
import { tableAdapters, tablesToCome } from './table-adapters.ts';

/** The cases of a file, each to be run on its own. `end` ends what they share. */
export function replayOf(file: GoldenFile): { cases: ReplayedCase[]; end?: () => Promise<void> } {
  switch (file.kind) {
    case 'manifests':
      return { cases: file.cases.map((one) => comparingCase(one.name, one, () => replayManifest(one))) };
    case 'configurations':
      return {
        cases: file.cases.map((one) =>
          comparingCase(one.name, { table: 'config', in: one, out: null }, () =>
            replayConfiguration(one, dirname(file.path)),
          ),
        ),
      };
    case 'log rotation':
      return { cases: file.cases.map((one) => comparingCase(one.name, inNoTable(one), () => replayLogRotation(one))) };
    case 'starts':
      return {
        cases: file.cases.map((one) => comparingCase(one.flags.join(' '), inNoTable(one), () => replayStart(one))),
      };
    case 'server':
      return file.replay();
    case 'table':
      return { cases: tableCases(file) };
  }
}

export const inNoTable = (recorded: object): Recording => ({ table: '', in: recorded, out: undefined });

function tableCases({ table, cases }: Extract<GoldenFile, { kind: 'table' }>): ReplayedCase[] {
  const adapter = tableAdapters.find((one) => one.table === table);
  return cases.map((tableCase, index) => ({
    name: String(index),
    run: () => (adapter ? outcomeOf(() => compareRow(adapter, tableCase)) : Promise.resolve(unanswered(table))),
  }));
}

function unanswered(table: string): Outcome {
  if (tablesToCome.includes(table)) return { verdict: 'not answered yet' };
  return { verdict: 'failed', because: `unknown table ${table}` };
}

async function compareRow(adapter: TableAdapter, { in: input, out }: TableCase): Promise<Comparison> {
  const expected = adapter.recorded ? adapter.recorded(out) : out;
  const actual = await adapter.replay(structuredClone(input));
  return { found: recordedDifferences(expected, actual, adapter), recording: { table: adapter.table, in: input, out } };
}
