import fc from 'fast-check';
import { testModel } from '../../support/model-check.ts';
import type { ProbeTimes } from './probed-pod.ts';
import { ProberModel, uids } from './prober-model.ts';

const uid = fc.constantFrom(...uids);
const nth = fc.nat(2);

testModel(
  'however pods come and go and their probes end, each probe is run alone, in its time, and told of as it is due',
  {
    setUp: fc.record({
      initialDelaySeconds: fc.constantFrom(0, 3),
      periodSeconds: fc.constantFrom(1, 2, 5),
      successThreshold: fc.integer({ min: 1, max: 3 }),
      failureThreshold: fc.integer({ min: 1, max: 3 }),
    }),
    open: (times: ProbeTimes) => new ProberModel(times),
    steps: {
      sync: [8, uid],
      start: [6, uid],
      exit: [1, uid],
      end: [1, uid],
      remove: [2, uid, fc.constantFrom('removePod', 'retain')],
      answer: [20, nth, fc.constantFrom('success', 'success', 'failure', 'error')],
      fail: [2, nth, fc.integer({ min: 2, max: 4 })],
      wait: [12, fc.constantFrom(1, 300, 1000, 2500, 10_000)],
    },
    maxSteps: 100,
    runs: 150,
    afterStep: (model) => model.checkPeriods(),
    finish: (model) => model.stop(),
  },
);
