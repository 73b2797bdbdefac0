import fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns, propertyTimeoutMs } from '../../property-runs.ts';
import { ImageManagerModel } from './image-manager-model.ts';

const anyStep = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      uid: fc.constantFrom('a', 'b'),
      image: fc.constantFrom('app', 'db'),
    }),
  },
  fc.record({ do: fc.constant('abort' as const), nth: fc.nat(5) }),
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      nth: fc.nat(5),
      how: fc.constantFrom('ok' as const, 'error' as const, 'error' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(100, 1000, 10_000, 30_000, 300_000, 700_000),
    }),
  },
);
type Step = typeof anyStep extends fc.Arbitrary<infer S> ? S : never;

const anyLimits = fc.record({
  maxParallelPulls: fc.integer({ min: 1, max: 3 }),
  registryPullQPS: fc.constantFrom(0, 1, 5),
  registryBurst: fc.integer({ min: 1, max: 4 }),
});

async function take(model: ImageManagerModel, step: Step): Promise<void> {
  switch (step.do) {
    case 'ask':
      model.ask(step.uid, step.image);
      break;
    case 'abort':
      model.abort(step.nth);
      break;
    case 'end':
      model.endPull(step.nth, step.how);
      break;
    case 'wait':
      break;
  }
  await model.clock.advance(step.do === 'wait' ? step.ms : 0);
  model.check();
}

test(
  'however images are asked for, come, fail and are given up, limits and back-off hold, and every request ends',
  async () => {
    await fc.assert(
      fc.asyncProperty(anyLimits, fc.array(anyStep, { maxLength: 60, size: 'max' }), async (limits, steps) => {
        const model = new ImageManagerModel(limits);
        for (const step of steps) await take(model, step);
        await model.settle();
        expect(model.violations).toEqual([]);
      }),
      propertyRuns(150),
    );
  },
  propertyTimeoutMs,
);
