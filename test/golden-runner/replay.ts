import { errorMessage } from '../../src/errors.ts';
import { deliberateDifferences, type Recording } from './deliberate-differences.ts';
import { type Difference, differences, recordedDifferences } from './differences.ts';
import type { GoldenFile, TableCase } from './golden-file.ts';
import { type LogRotationCase, replayLogRotation } from './log-rotation-case.ts';
import { type ManifestCase, replayManifest } from './manifest-case.ts';
import { replayStart, type StartCase } from './start-case.ts';
import type { TableAdapter } from './table-adapter.ts';
import { tableAdapters, tablesToCome } from './table-adapters.ts';

/** How a case came out. */
export type Outcome =
  | { verdict: 'passed' }
  | { verdict: 'differs on purpose'; reason: string }
  | { verdict: 'not answered yet' }
  | { verdict: 'failed'; because: Difference | string };

export interface ReplayedCase {
  /** Name of a manifest, number of a row from 0 in its table. */
  name: string;
  run: () => Promise<Outcome>;
}

/** The cases of a file, each to be run on its own. */
export function casesOf(file: GoldenFile): ReplayedCase[] {
  if (file.kind === 'manifests') {
    return file.cases.map((manifestCase) => ({
      name: manifestCase.name,
      run: () => outcome(() => compareManifest(manifestCase)),
    }));
  }
  if (file.kind === 'log rotation') {
    return file.cases.map((rotation) => ({
      name: rotation.name,
      run: () => outcome(async () => asComparison(rotation, await replayLogRotation(rotation))),
    }));
  }
  if (file.kind === 'starts') {
    return file.cases.map((start) => ({
      name: start.flags.join(' '),
      run: () => outcome(async () => asComparison(start, await replayStart(start))),
    }));
  }
  const adapter = tableAdapters.find(({ table }) => table === file.table);
  return file.cases.map((tableCase, index) => ({
    name: String(index),
    run: () => (adapter ? outcome(() => compareRow(adapter, tableCase)) : Promise.resolve(unanswered(file.table))),
  }));
}

function unanswered(table: string): Outcome {
  if (tablesToCome.includes(table)) return { verdict: 'not answered yet' };
  return { verdict: 'failed', because: `unknown table ${table}` };
}

interface Comparison {
  found: Iterable<Difference>;
  recording: Recording;
}

function compareManifest(manifestCase: ManifestCase): Comparison {
  const { expected, actual } = replayManifest(manifestCase);
  return { found: differences(expected, actual), recording: manifestCase };
}

function asComparison(
  recording: LogRotationCase | StartCase,
  { expected, actual }: { expected: unknown; actual: unknown },
): Comparison {
  return { found: differences(expected, actual), recording: { table: '', in: recording, out: expected } };
}

async function compareRow(adapter: TableAdapter, { in: input, out }: TableCase): Promise<Comparison> {
  const expected = adapter.recorded ? adapter.recorded(out) : out;
  const actual = await adapter.replay(structuredClone(input));
  return { found: recordedDifferences(expected, actual, adapter), recording: { table: adapter.table, in: input, out } };
}

async function outcome(compare: () => Comparison | Promise<Comparison>): Promise<Outcome> {
  let reason: string | undefined;
  try {
    const { found, recording } = await compare();
    for (const difference of found) {
      const deliberate = deliberateDifferences.find(({ covers }) => covers(difference, recording));
      if (!deliberate) return { verdict: 'failed', because: difference };
      reason ??= deliberate.reason;
    }
  } catch (error) {
    return { verdict: 'failed', because: `threw ${errorMessage(error)}` };
  }
  return reason === undefined ? { verdict: 'passed' } : { verdict: 'differs on purpose', reason };
}
