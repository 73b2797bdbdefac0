import fc from 'fast-check';
import { testModel } from '../support/model-check.ts';
import { SupervisorModel } from './supervisor-model.ts';

/** Two lives of ours at once, as `images load` beside `run`. */
const place = fc.constantFrom(0, 1);

// Vitest fails a run in which a rejected promise has no handler.
testModel(
  'whatever becomes of containerd and of us, one runs while it is wanted, none after a stop, and restarts keep their distance',
  {
    /** How long calls to the machine take, in turn. */
    setUp: fc.array(fc.constantFrom(0, 0, 1, 5, 50, 700), { minLength: 1, maxLength: 7 }),
    open: (delaysMs: number[]) => new SupervisorModel(delaysMs),
    steps: {
      start: [5, place],
      abortStart: [1, place],
      release: [1, place],
      stop: [1, place],
      kill9: [2, place],
      killContainerd: [4],
      dropConnections: [1],
      reusePID: [1],
      become: [
        2,
        fc.record({
          answersAfterMs: fc.constantFrom(0, 500, 30_000, Infinity),
          stopsAfterMs: fc.constantFrom(0, 100, 5000, Infinity),
        }),
      ],
      wait: [8, fc.constantFrom(1, 5, 20, 100, 600, 3000, 21_000, 61_000)],
    },
    maxSteps: 40,
    runs: 400,
    afterStep: (model) => model.wait(0),
    finish: (model) => model.settle(),
  },
);
