import fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns, propertyTimeoutMs } from '../../property-runs.ts';
import { PlegModel } from './pleg-model.ts';

type Step =
  | { do: 'add'; uid: string; kind: 'sandbox' | 'container'; stage: 'created' | 'running' }
  | { do: 'moveOn'; nth: number; to: 'running' | 'exited' | 'removed' }
  | { do: 'answer'; nth: number; how: 'early' | 'late' | 'error' }
  | { do: 'say'; nth: number; type: 'exited' | 'removed' | 'changed'; withUID: boolean; withEnd: boolean }
  | { do: 'look' | 'ask'; uid: string }
  | { do: 'loseStream' }
  | { do: 'wait'; ms: number };

const uid = fc.constantFrom('a', 'b');
const nth = fc.nat(9);
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('add' as const),
    uid,
    kind: fc.constantFrom('sandbox' as const, 'container' as const),
    stage: fc.constantFrom('created' as const, 'running' as const),
  }),
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('moveOn' as const),
      nth,
      to: fc.constantFrom('running' as const, 'exited' as const, 'removed' as const),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      nth: fc.nat(3),
      how: fc.constantFrom('early' as const, 'late' as const, 'late' as const, 'error' as const),
    }),
  },
  fc.record({
    do: fc.constant('say' as const),
    nth,
    type: fc.constantFrom('exited' as const, 'removed' as const, 'changed' as const),
    withUID: fc.boolean(),
    withEnd: fc.boolean(),
  }),
  fc.record({ do: fc.constantFrom('look' as const, 'ask' as const), uid }),
  fc.record({ do: fc.constant('loseStream' as const) }),
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 1, 500, 1000, 60_000) }),
  },
);

async function take(model: PlegModel, step: Step): Promise<void> {
  switch (step.do) {
    case 'add':
      model.add(step.uid, step.kind, step.stage);
      break;
    case 'moveOn':
      model.moveOn(step.nth, step.to);
      break;
    case 'answer':
      model.calls.splice(step.nth, 1)[0]?.answer(step.how);
      break;
    case 'say':
      model.say(step.nth, step.type, step);
      break;
    case 'look':
    case 'ask':
      model[step.do](step.uid);
      break;
    case 'loseStream':
      model.loseStream();
      break;
    case 'wait':
      break;
  }
  await model.clock.advance(step.do === 'wait' ? step.ms : 0);
}

test(
  'whatever happens in the runtime, and however its answers come, nothing is lost, told twice, or taken back',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 80, size: 'max' }), async (steps) => {
        const model = new PlegModel();
        for (const step of steps) await take(model, step);
        await model.settle();
        await model.stop();
        expect(model.violations).toEqual([]);
      }),
      propertyRuns(150),
    );
  },
  propertyTimeoutMs,
);
