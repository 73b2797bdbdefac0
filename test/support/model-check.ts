import fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns, propertyTimeoutMs } from './property-runs.ts';

/** A component under test and its surroundings. Records violations of its invariants. */
export interface Model {
  readonly violations: Iterable<string>;
}

type MethodsOf<M> = {
  [K in keyof M]: M[K] extends (...args: infer A) => void | Promise<void> ? (args: A) => void : never;
};
type ArgumentsOf<F> = F extends (args: infer A extends readonly unknown[]) => void ? A : never;

/** Methods of the model to call in random order, each with its weight and its arguments. */
export type Steps<M> = {
  readonly [K in keyof M]?: readonly [weight: number, ...args: ArbitrariesOf<ArgumentsOf<MethodsOf<M>[K]>>];
};
type ArbitrariesOf<A extends readonly unknown[]> = { readonly [I in keyof A]: fc.Arbitrary<A[I]> };

interface Check<M, S> {
  /** Argument of `open`. */
  setUp?: fc.Arbitrary<S>;
  open: (setup: S) => M | Promise<M>;
  steps: Steps<M>;
  maxSteps: number;
  runs: number;
  /** Runs after each step: lets its consequences happen and checks the invariants. */
  afterStep?: (model: M) => void | Promise<void>;
  /** Runs after all steps: lets the model come to rest and checks its final state. */
  finish: (model: M) => void | Promise<void>;
  close?: (model: M) => Promise<void>;
}

/** Defines a test that runs `checkModel`. */
export function testModel<M extends Model, S = undefined>(title: string, check: Check<M, S>): void {
  test(title, () => checkModel(check), propertyTimeoutMs);
}

/**
 * Calls random methods of a model. Rejects if there are violations afterwards. The error contains the shortest failing
 * list of calls and the command that runs it again.
 */
export async function checkModel<M extends Model, S = undefined>(check: Check<M, S>): Promise<void> {
  // This cast is safe, because S is undefined without `setUp`.
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

/** One call of a method. Its string form shows the call. */
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
  // This cast is safe, because the steps are an object literal.
  const entries = Object.entries(steps) as [string, readonly [number, ...fc.Arbitrary<unknown>[]]][];
  return fc.oneof(
    ...entries.map(([name, [weight, ...args]]) => ({
      weight,
      arbitrary: fc.tuple(...args).map((values) => new Step<M>(name as keyof M, values)),
    })),
  );
}
