/**
 * How often a property is tried, and from which seed: always the same cases, so that a failure comes again. FC_SEED and
 * FC_RUNS in the environment try others: `FC_SEED=7 FC_RUNS=2000 npx vitest run property`
 */
export function propertyRuns(numRuns: number): { numRuns: number; seed: number } {
  return { numRuns: fromEnvironment('FC_RUNS') ?? numRuns, seed: fromEnvironment('FC_SEED') ?? 1 };
}

/** Timeout of a test with a property, for a machine that is busy; 0, which is none, where more runs are asked for. */
export const propertyTimeoutMs = fromEnvironment('FC_RUNS') === undefined ? 120_000 : 0;

function fromEnvironment(name: string): number | undefined {
  const text = process.env[name];
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (!Number.isInteger(value)) throw new Error(`${name} must be a whole number, not ${JSON.stringify(text)}`);
  return value;
}
