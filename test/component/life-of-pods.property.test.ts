import fc from 'fast-check';
import { testModel } from '../support/model-check.ts';
import { LifeModel, names } from './life-model.ts';

const name = fc.constantFrom(...names);
const container = fc.constantFrom('main', 'main', 'sidecar');
const method = fc.constantFrom(
  'runPodSandbox',
  'createContainer',
  'startContainer',
  'stopContainer',
  'stopPodSandbox',
  'removeContainer',
  'removePodSandbox',
  'listContainers',
  'listPodSandbox',
  'containerStatus',
  'podSandboxStatus',
  'pullImage',
);
const revision = fc.record({
  value: fc.nat(2),
  hasUID: fc.boolean(),
  hasInit: fc.boolean(),
  hasSidecar: fc.boolean(),
  isRestarted: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
});

testModel(
  'whatever happens to pods, their runtime and their engine, nothing runs twice, and all is as declared in the end',
  {
    open: () => LifeModel.open(),
    steps: {
      declare: [5, name, revision],
      undeclare: [3, name],
      exit: [3, name, container, fc.constantFrom(0, 1)],
      drop: [1, name, container],
      killSandbox: [1, name],
      fail: [2, method, fc.integer({ min: 1, max: 5 })],
      hang: [2, method, fc.boolean()],
      recover: [1],
      slowStop: [1, fc.constantFrom(0, 1000, 3000, Infinity)],
      jump: [1, fc.constantFrom(-86_400_000, -60_000, 60_000, 86_400_000)],
      loseEvents: [1],
      reboot: [1, fc.boolean()],
      crash: [1],
      stop: [1],
      boot: [3, fc.boolean()],
      pass: [8, fc.constantFrom(100, 100, 300, 1000, 15_000)],
    },
    maxSteps: 40,
    runs: 10,
    finish: (model) => model.rest(),
    close: (model) => model.end(),
  },
);
