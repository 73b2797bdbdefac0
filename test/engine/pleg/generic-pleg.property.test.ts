import fc from 'fast-check';
import { testModel } from '../../support/model-check.ts';
import { PlegModel } from './pleg-model.ts';

const uid = fc.constantFrom('a', 'b');
const nth = fc.nat(9);

testModel('whatever happens in the runtime, and however its answers come, nothing is lost, told twice, or taken back', {
  open: () => new PlegModel(),
  steps: {
    add: [2, uid, fc.constantFrom('sandbox', 'container'), fc.constantFrom('created', 'running')],
    moveOn: [6, nth, fc.constantFrom('running', 'exited', 'removed')],
    answer: [12, fc.nat(3), fc.constantFrom('early', 'late', 'late', 'error')],
    say: [
      2,
      nth,
      fc.constantFrom('exited', 'removed', 'changed'),
      fc.record({ withUID: fc.boolean(), withEnd: fc.boolean() }),
    ],
    look: [1, uid],
    ask: [1, uid],
    loseStream: [2],
    wait: [8, fc.constantFrom(1, 1, 500, 1000, 60_000)],
  },
  maxSteps: 80,
  runs: 150,
  afterStep: (model) => model.wait(0),
  async finish(model) {
    await model.settle();
    await model.stop();
  },
});
