import { errorMessage } from '../../src/errors.ts';
import { deliberateDifferences, type Recording } from './deliberate-differences.ts';
import { type Difference, differences } from './differences.ts';

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
  /** True for a case that others show too. The tests leave it to the command. */
  isShownElsewhere?: boolean;
}

export interface Comparison {
  found: Iterable<Difference>;
  recording: Recording;
}

/** A case that compares what was recorded with what our code makes of it. */
export function comparingCase(
  name: string,
  recording: Recording,
  replay: () => { expected: unknown; actual: unknown } | Promise<{ expected: unknown; actual: unknown }>,
): ReplayedCase {
  return {
    name,
    run: () =>
      outcomeOf(async () => {
        const { expected, actual } = await replay();
        return { found: differences(expected, actual), recording };
      }),
  };
}

export async function outcomeOf(compare: () => Comparison | Promise<Comparison>): Promise<Outcome> {
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
