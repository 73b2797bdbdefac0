import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkModel, type Steps } from './model-check.ts';

/** Counts its items, and must not hold more than two. */
class Shelf {
  readonly violations: string[] = [];
  #things = 0;

  put(count: number): void {
    this.#things += count;
    if (this.#things > 2) this.violations.push(`${this.#things} things`);
  }

  async clear(): Promise<void> {
    this.#things = await Promise.resolve(0);
  }
}

const check = { open: () => new Shelf(), maxSteps: 20, runs: 100, finish: () => undefined };

test('a failure prints the shortest calls that lead to it, and the command that makes them again', async () => {
  const steps: Steps<Shelf> = { put: [3, fc.integer({ min: 0, max: 2 })], clear: [1] };
  await expect(checkModel({ ...check, steps })).rejects.toThrow(
    /\[put\(1\),put\(1\),put\(1\)\](.|\n)*Again: FC_SEED=1 FC_PATH=[\d:]+ npx vitest run .*model-check\.test\.ts -t 'a failure/,
  );
});

test('a model without violations passes, and each of its steps is taken', async () => {
  const taken = new Set<string>();
  class Counted extends Shelf {
    override put(): void {
      taken.add('put');
    }

    override async clear(): Promise<void> {
      await super.clear();
      taken.add('clear');
    }
  }
  await checkModel({ ...check, open: () => new Counted(), steps: { put: [1], clear: [1] } });
  expect([...taken].sort()).toEqual(['clear', 'put']);
});

test('what only shows when everything is over is found, and each model is closed', async () => {
  const models = { open: 0, closed: 0 };
  const checking = checkModel({
    ...check,
    open: () => {
      models.open += 1;
      return new Shelf();
    },
    steps: { clear: [1] },
    finish: (shelf: Shelf) => {
      shelf.put(3);
    },
    close: () => Promise.resolve(void (models.closed += 1)),
  });
  await expect(checking).rejects.toThrow('FC_PATH');
  expect(models.closed).toBe(models.open);
});
