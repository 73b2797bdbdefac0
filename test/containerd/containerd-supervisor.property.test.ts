import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SupervisorModel } from './supervisor-model.ts';

/** Two lives of ours at once, as `images load` beside `run`. */
const anyPlace = fc.constantFrom(0, 1);
const anyStep = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('start' as const), place: anyPlace }) },
  fc.record({ do: fc.constant('abortStart' as const), place: anyPlace }),
  fc.record({ do: fc.constant('release' as const), place: anyPlace }),
  fc.record({ do: fc.constant('stop' as const), place: anyPlace }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('kill9' as const), place: anyPlace }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('killContainerd' as const) }) },
  fc.record({ do: fc.constant('dropConnections' as const) }),
  fc.record({ do: fc.constant('reusePID' as const) }),
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('nature' as const),
      answersAfterMs: fc.constantFrom(0, 500, 30_000, Infinity),
      stopsAfterMs: fc.constantFrom(0, 100, 5000, Infinity),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 5, 20, 100, 600, 3000, 21_000, 61_000),
    }),
  },
);
type Step = typeof anyStep extends fc.Arbitrary<infer S> ? S : never;

/** How long calls to the machine take, in turn. */
const anyDelays = fc.array(fc.constantFrom(0, 0, 1, 5, 50, 700), { minLength: 1, maxLength: 7 });

async function take(model: SupervisorModel, step: Step): Promise<void> {
  switch (step.do) {
    case 'start':
    case 'abortStart':
    case 'release':
    case 'stop':
    case 'kill9':
      model[step.do](step.place);
      break;
    case 'killContainerd':
    case 'dropConnections':
    case 'reusePID':
      model[step.do]();
      break;
    case 'nature':
      model.nature = step;
      break;
    case 'wait':
      break;
  }
  await model.clock.advance(step.do === 'wait' ? step.ms : 0);
}

/** For a machine that is busy. */
const timeoutMs = 120_000;

// Vitest fails a run in which a promise is rejected that nobody waits for.
test(
  'whatever becomes of containerd and of us, one runs while it is wanted, none after a stop, and restarts keep their distance',
  async () => {
    await fc.assert(
      fc.asyncProperty(anyDelays, fc.array(anyStep, { maxLength: 40, size: 'max' }), async (delays, steps) => {
        const model = new SupervisorModel(delays);
        for (const step of steps) await take(model, step);
        await model.settle();
        expect(model.violations).toEqual([]);
      }),
      { numRuns: 400 },
    );
  },
  timeoutMs,
);
