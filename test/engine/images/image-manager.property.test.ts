import fc from 'fast-check';
import { testModel } from '../../support/model-check.ts';
import { ImageManagerModel, type PullLimits } from './image-manager-model.ts';

const nth = fc.nat(5);

testModel(
  'however images are asked for, come, fail and are given up, limits and back-off hold, and every request ends',
  {
    setUp: fc.record({
      maxParallelPulls: fc.integer({ min: 1, max: 3 }),
      registryPullQPS: fc.constantFrom(0, 1, 5),
      registryBurst: fc.integer({ min: 1, max: 4 }),
    }),
    open: (limits: PullLimits) => new ImageManagerModel(limits),
    steps: {
      ask: [5, fc.constantFrom('a', 'b'), fc.constantFrom('app', 'db')],
      abort: [1, nth],
      endPull: [4, nth, fc.constantFrom('ok', 'error', 'error')],
      wait: [2, fc.constantFrom(100, 1000, 10_000, 30_000, 300_000, 700_000)],
    },
    maxSteps: 60,
    runs: 150,
    afterStep: (model) => model.check(),
    finish: (model) => model.settle(),
  },
);
