import fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns, propertyTimeoutMs } from './property-runs.ts';

/** A part under test with all that is around it. It notes what must never be, where that happens. */
export interface Model {
  readonly violations: Iterable<string>;
}

type MethodsOf<M> = {
  [K in keyof M]: M[K] extends (...args: infer A) => void | Promise<void> ? (args: A) => void : never;
};
type ArgumentsOf<F> = F extends (args: infer A extends readonly unknown[]) => void ? A : never;

/** Methods of the model that are called in any order: how often each is chosen, and with which arguments. */
export type Steps<M> = {
  readonly [K in keyof M]?: readonly [weight: number, ...args: ArbitrariesOf<ArgumentsOf<MethodsOf<M>[K]>>];
};
type ArbitrariesOf<A extends readonly unknown[]> = { readonly [I in keyof A]: fc.Arbitrary<A[I]> };

interface Check<M, S> {
  /** What the model is opened with. */
  setUp?: fc.Arbitrary<S>;
  open: (setup: S) => M | Promise<M>;
  steps: Steps<M>;
  maxSteps: number;
  runs: number;
  /** After each step: what was set off happens, what holds at every moment is checked. */
  afterStep?: (model: M) => void | Promise<void>;
  /** After all steps: what holds once everything came to its end is checked. */
  finish: (model: M) => void | Promise<void>;
  close?: (model: M) => Promise<void>;
}

/** A test of `checkModel`. */
export function testModel<M extends Model, S = undefined>(title: string, check: Check<M, S>): void {
  test(title, () => checkModel(check), propertyTimeoutMs);
}

/**
 * Calls methods of a model at random, and rejects if there are violations then. The error has the shortest list of
 * calls that was found, and the command that runs it again.
 */
export async function checkModel<M extends Model, S = undefined>(check: Check<M, S>): Promise<void> {
  // Without `setUp` S is undefined.
  const { setUp = fc.constant(undefined as S), open, steps, maxSteps, runs, afterStep, finish, close } = check;
  const anySteps = fc.array(anyStepOf(steps), { maxLength: maxSteps, size: 'max' });
  const property = fc.asyncProperty(setUp, anySteps, async (setup, taken) => {
    const model = await open(setup);
    try {
      for (const { name, args } of taken) {
        await (model[name] as (...args: unknown[]) => unknown)(...args);
        await afterStep?.(model);
      }
      await finish(model);
      expect([...model.violations]).toEqual([]);
    } finally {
      await close?.(model);
    }
  });
  await fc.assert(property, propertyRuns(runs));
}

/** One call, which prints as such. */
class Step<M> {
  readonly name: keyof M;
  readonly args: readonly unknown[];

  constructor(name: keyof M, args: readonly unknown[]) {
    this.name = name;
    this.args = args;
  }

  [fc.toStringMethod](): string {
    return `${String(this.name)}(${this.args.map((arg) => fc.stringify(arg)).join(', ')})`;
  }
}

function anyStepOf<M>(steps: Steps<M>): fc.Arbitrary<Step<M>> {
  // The keys of an object literal of this type are those of its type.
  const entries = Object.entries(steps) as [string, readonly [number, ...fc.Arbitrary<unknown>[]]][];
  return fc.oneof(
    ...entries.map(([name, [weight, ...args]]) => ({
      weight,
      arbitrary: fc.tuple(...args).map((values) => new Step<M>(name as keyof M, values)),
    })),
  );
}
