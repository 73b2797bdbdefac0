import fc from 'fast-check';
import { testModel } from '../support/model-check.ts';
import { InPlaceModel } from './in-place-model.ts';

const method = fc.constantFrom(
  'updateContainerResources',
  'createContainer',
  'startContainer',
  'stopContainer',
  'containerStatus',
  'listContainers',
  'pullImage',
  'imageStatus',
);

testModel('whatever happens while a manifest is edited in place, its pod stays and is as declared in the end', {
  open: () => InPlaceModel.open(),
  steps: {
    edit: [6, fc.integer({ min: 1, max: 3 }), fc.constantFrom(32, 64, 128)],
    exit: [1],
    fail: [2, method, fc.integer({ min: 1, max: 5 })],
    hang: [2, method, fc.boolean()],
    recover: [1],
    crash: [2],
    stop: [1],
    boot: [3],
    pass: [8, fc.constantFrom(1, 10, 100, 1000, 15_000)],
  },
  maxSteps: 30,
  runs: 15,
  finish: (model) => model.rest(),
  close: (model) => model.end(),
});
