import fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns, propertyTimeoutMs } from '../../property-runs.ts';
import { AdmissionModel } from './admission-model.ts';
import type { PodPlan } from './planned-pod.ts';

const nth = fc.nat(5);
const anyPlan: fc.Arbitrary<PodPlan> = fc.record({
  cpu: fc.constantFrom(0, 1, 2, 3),
  hostPort: fc.constantFrom(0, 0, 0, 80),
  priority: fc.constantFrom(0, 0, 1000, 2000),
  after: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 2 })),
});
const anyStep = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('declare' as const), nth }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('remove' as const, 'complete' as const), nth }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('end' as const, 'sync' as const, 'update' as const), nth }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('run' as const), nth, ready: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('housekeeping' as const, 'pump' as const) }) },
  fc.record({ do: fc.constant('shutDown' as const), on: fc.boolean() }),
);
type Step = typeof anyStep extends fc.Arbitrary<infer S> ? S : never;

function take(model: AdmissionModel, step: Step): void {
  switch (step.do) {
    case 'declare':
    case 'remove':
    case 'complete':
    case 'end':
    case 'sync':
    case 'update':
      model[step.do](step.nth);
      break;
    case 'run':
      model.run(step.nth, step.ready);
      break;
    case 'housekeeping':
    case 'pump':
      model[step.do]();
      break;
    case 'shutDown':
      model.setShuttingDown(step.on);
      break;
  }
  model.check();
}

test('a pod that others made way for starts also when one of them has come back before it', () => {
  const small = { cpu: 1, hostPort: 0, priority: 0, after: [] };
  const model = new AdmissionModel([{ ...small, cpu: 3 }, small, { ...small, priority: 2000 }]);
  for (const pod of [0, 1, 2]) model.declare(pod);
  model.remove(0);
  model.end(1);
  model.housekeeping();
  model.settle();
  expect(model.violations).toEqual([]);
});

test(
  'however pods come, end and get Ready, only what fits starts, in its order, and nothing waits that could start',
  () => {
    const plans = fc.array(anyPlan, { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(plans, fc.array(anyStep, { maxLength: 60, size: 'max' }), (pods, steps) => {
        const model = new AdmissionModel(pods);
        for (const step of steps) take(model, step);
        model.settle();
        model.settleReady();
        expect(model.violations).toEqual([]);
      }),
      propertyRuns(200),
    );
  },
  propertyTimeoutMs,
);
