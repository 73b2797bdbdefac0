import fc from 'fast-check';
import { expect, test } from 'vitest';
import { testModel } from '../../support/model-check.ts';
import { AdmissionModel } from './admission-model.ts';
import type { PodPlan } from './planned-pod.ts';

const nth = fc.nat(5);
const anyPlan: fc.Arbitrary<PodPlan> = fc.record({
  cpu: fc.constantFrom(0, 1, 2, 3),
  hostPort: fc.constantFrom(0, 0, 0, 80),
  priority: fc.constantFrom(0, 0, 1000, 2000),
  after: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 2 })),
});

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

test('a pod for which room is made gives it up once to a more important pod', () => {
  const large = { cpu: 3, hostPort: 0, priority: 0, after: [] };
  const model = new AdmissionModel([large, { ...large, priority: 1000 }, { ...large, priority: 2000 }]);
  for (const pod of [0, 1, 2]) model.declare(pod);
  for (let round = 0; round < 3; round++) {
    model.housekeeping();
    model.pump();
  }
  model.settle();
  model.housekeeping();
  expect({ preempted: model.preempted, violations: model.violations }).toEqual({
    preempted: ['p0', 'p1'],
    violations: [],
  });
});

testModel(
  'however pods come, end and get Ready, only what fits starts, in its order, and nothing waits that could start',
  {
    setUp: fc.array(anyPlan, { minLength: 6, maxLength: 6 }),
    open: (pods: PodPlan[]) => new AdmissionModel(pods),
    steps: {
      declare: [4, nth],
      remove: [1, nth],
      complete: [1, nth],
      end: [1, nth],
      sync: [1, nth],
      update: [1, nth],
      run: [4, nth, fc.boolean()],
      housekeeping: [2],
      pump: [2],
      setShuttingDown: [1, fc.boolean()],
    },
    maxSteps: 60,
    runs: 200,
    afterStep(model) {
      model.check();
    },
    finish(model) {
      model.settle();
      model.settleReady();
    },
  },
);
