import fc from 'fast-check';
import { expect } from 'vitest';

interface Runs {
  numRuns: number;
  seed: number;
  path?: string;
  plugins: fc.Plugin<unknown>[];
}

/**
 * Returns the number of runs and the seed for a property. By default the cases are always the same, so that a failure
 * can be repeated. FC_SEED and FC_RUNS in the environment select others: `FC_SEED=7 FC_RUNS=2000 npx vitest run
 * property`. A failure prints the command that runs only its shortest case.
 */
export function propertyRuns(numRuns: number): Runs {
  const path = process.env['FC_PATH'] ?? '';
  return {
    numRuns: fromEnvironment('FC_RUNS') ?? numRuns,
    seed: fromEnvironment('FC_SEED') ?? 1,
    ...(path !== '' && { path }),
    plugins: [printCommand],
  };
}

/** Timeout of a property test, which is that of any other test. 0 means no timeout and is used with FC_RUNS. */
export const propertyTimeoutMs = fromEnvironment('FC_RUNS') === undefined ? 300_000 : 0;

const printCommand: fc.Plugin<unknown> = () => ({
  onAllRunsComplete: (details) => {
    if (!details.failed) return;
    const { testPath = '', currentTestName = '' } = expect.getState();
    const seed = `FC_SEED=${details.seed} FC_PATH=${details.counterexamplePath ?? ''}`;
    const command = `${seed} npx vitest run ${testPath} -t '${currentTestName.split(' > ').at(-1) ?? ''}'`;
    throw new Error(`${fc.defaultReportMessage(details)}\n\nAgain: ${command}`, { cause: details.errorInstance });
  },
});

function fromEnvironment(name: string): number | undefined {
  const text = process.env[name];
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (!Number.isInteger(value)) throw new Error(`${name} must be a whole number, not ${JSON.stringify(text)}`);
  return value;
}
