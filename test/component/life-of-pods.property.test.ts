import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { MethodName } from '../fakes/fake-calls.ts';
import { propertyRuns, propertyTimeoutMs } from '../property-runs.ts';
import { LifeModel, names, type Revision } from './life-model.ts';

const name = fc.constantFrom(...names);
const container = fc.constantFrom('main', 'main', 'sidecar');
const method = fc.constantFrom<MethodName>(
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
const revision: fc.Arbitrary<Revision> = fc.record({
  value: fc.nat(2),
  hasUID: fc.boolean(),
  hasInit: fc.boolean(),
  hasSidecar: fc.boolean(),
  isRestarted: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
});
const anyStep = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('declare' as const), name, revision }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('undeclare' as const), name }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('exit' as const), name, container, code: fc.constantFrom(0, 1) }),
  },
  fc.record({ do: fc.constant('drop' as const), name, container }),
  fc.record({ do: fc.constant('killSandbox' as const), name }),
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('fail' as const), method, times: fc.integer({ min: 1, max: 5 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('hang' as const), method, answersOnly: fc.boolean() }) },
  fc.record({ do: fc.constant('recover' as const) }),
  fc.record({ do: fc.constant('slowStop' as const), ms: fc.constantFrom(0, 1000, 3000, Infinity) }),
  fc.record({ do: fc.constant('jump' as const), ms: fc.constantFrom(-86_400_000, -60_000, 60_000, 86_400_000) }),
  fc.record({ do: fc.constant('loseEvents' as const) }),
  fc.record({ do: fc.constant('reboot' as const), forgets: fc.boolean() }),
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('crash' as const, 'stop' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('boot' as const), isEvented: fc.boolean() }) },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(100, 100, 300, 1000, 15_000) }),
  },
);
type Step = typeof anyStep extends fc.Arbitrary<infer S> ? S : never;

async function take(model: LifeModel, step: Step): Promise<void> {
  switch (step.do) {
    case 'declare':
      model.declare(step.name, step.revision);
      break;
    case 'undeclare':
    case 'killSandbox':
      model[step.do](step.name);
      break;
    case 'exit':
      model.exit(step.name, step.container, step.code);
      break;
    case 'drop':
      model.drop(step.name, step.container);
      break;
    case 'fail':
      model.fail(step.method, step.times);
      break;
    case 'hang':
      model.hang(step.method, step.answersOnly);
      break;
    case 'slowStop':
    case 'jump':
    case 'pass':
      await model[step.do](step.ms);
      break;
    case 'recover':
    case 'loseEvents':
    case 'crash':
    case 'stop':
      await model[step.do]();
      break;
    case 'reboot':
      await model.reboot(step.forgets);
      break;
    case 'boot':
      await model.boot(step.isEvented);
      break;
  }
}

test(
  'whatever happens to pods, their runtime and their engine, nothing runs twice, and all is as declared in the end',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 40, size: 'max' }), async (steps) => {
        const model = await LifeModel.open();
        try {
          for (const step of steps) await take(model, step);
          await model.rest();
          expect([...model.violations]).toEqual([]);
        } finally {
          await model.end();
        }
      }),
      propertyRuns(10),
    );
  },
  propertyTimeoutMs,
);
