import fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns, propertyTimeoutMs } from '../../property-runs.ts';
import { ProberModel, uids } from './prober-model.ts';

const uid = fc.constantFrom(...uids);
const anyStep = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('sync' as const), uid }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('start' as const), uid }) },
  fc.record({ do: fc.constantFrom('exit' as const, 'end' as const), uid }),
  fc.record({ do: fc.constant('remove' as const), uid, how: fc.constantFrom('removePod' as const, 'retain' as const) }),
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      nth: fc.nat(2),
      outcome: fc.constantFrom('success' as const, 'success' as const, 'failure' as const, 'error' as const),
    }),
  },
  fc.record({ do: fc.constant('fail' as const), nth: fc.nat(2), times: fc.integer({ min: 2, max: 4 }) }),
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 300, 1000, 2500, 10_000) }),
  },
);
type Step = typeof anyStep extends fc.Arbitrary<infer S> ? S : never;

const anyTimes = fc.record({
  initialDelaySeconds: fc.constantFrom(0, 3),
  periodSeconds: fc.constantFrom(1, 2, 5),
  successThreshold: fc.integer({ min: 1, max: 3 }),
  failureThreshold: fc.integer({ min: 1, max: 3 }),
});

async function take(model: ProberModel, step: Step): Promise<void> {
  switch (step.do) {
    case 'sync':
    case 'start':
    case 'exit':
    case 'end':
      model[step.do](step.uid);
      break;
    case 'remove':
      model.remove(step.uid, step.how);
      break;
    case 'answer':
      model.answer(model.calls[step.nth], step.outcome);
      break;
    case 'fail': {
      const { key } = model.calls[step.nth] ?? {};
      for (let time = 0; time < step.times; time++) {
        model.answer(
          model.calls.find((call) => call.key === key),
          'error',
        );
        await model.clock.advance(0);
      }
      break;
    }
    case 'wait':
      break;
  }
  await model.clock.advance(step.do === 'wait' ? step.ms : 0);
  model.checkPeriods();
}

test(
  'however pods come and go and their probes end, each probe is run alone, in its time, and told of as it is due',
  async () => {
    await fc.assert(
      fc.asyncProperty(anyTimes, fc.array(anyStep, { maxLength: 100, size: 'max' }), async (times, steps) => {
        const model = new ProberModel(times);
        for (const step of steps) await take(model, step);
        await model.stop();
        expect(model.violations).toEqual([]);
      }),
      propertyRuns(150),
    );
  },
  propertyTimeoutMs,
);
