import { describe, expect, test } from 'vitest';
import type { Pod, RawPod } from '../../src/api/types.ts';
import type { OperationAction } from '../../src/engine/operations/operation.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const name = 'web-edge1';

interface Running {
  world: World;
  engine: Engine;
}

function makeJob(restartPolicy: string, spec: Partial<RawPod['spec']> = {}): Pod {
  return makeStaticPod('web', { spec: { restartPolicy, containers: [{ name: 'main', image: 'app:1' }], ...spec } });
}

async function boot(world: World, pod: Pod): Promise<Engine> {
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.setDerived(pod);
  return engine;
}

async function ask({ world, engine }: Running, action: OperationAction): Promise<string> {
  let answer: string | undefined;
  const asked = engine.kubelet.operate({ action, pod: { namespace: 'default', name } }).then((message) => {
    answer = message;
  });
  await world.until(() => answer !== undefined);
  await asked;
  return answer ?? '';
}

const isFinished = (engine: Engine): boolean => engine.pod(name)?.worker.state === 'finished';
const startsOf = (world: World): number => world.runtime.requestsOf('startContainer').length;
const shown = ({ world, engine }: Running): object => ({
  phase: engine.phase(name),
  starts: startsOf(world),
  atOnce: world.runtime.maxConcurrentRunning(name, 'main'),
});

async function ended(pod: Pod, exitCode: number): Promise<Running> {
  const world = await World.make();
  if (pod.spec.restartPolicy !== 'Always') world.runtime.script('main', { exitAfterMs: 1000, exitCode });
  const engine = await boot(world, pod);
  await world.until(() => isFinished(engine));
  return { world, engine };
}

describe.each(['retry', 'restart'] as const)('%s', (action) => {
  test.each([
    ['completed', makeJob('Never'), 0, 'Succeeded'],
    ['completed and would start again on failure', makeJob('OnFailure'), 0, 'Succeeded'],
    ['failed', makeJob('Never'), 3, 'Failed'],
    ['is past its deadline', makeJob('Always', { activeDeadlineSeconds: 3 }), 0, 'Failed'],
  ])('runs a pod that %s once more', async (_what, pod, exitCode, phase) => {
    const one = await ended(pod, exitCode);
    const before = startsOf(one.world);
    expect(await ask(one, action)).toBe('pod/web-edge1 runs again');
    await one.world.until(() => startsOf(one.world) > before);
    await one.world.until(() => isFinished(one.engine));
    await one.world.pass(60_000);
    expect({ ...shown(one), events: one.engine.messages('RunsAnew') }).toEqual({
      phase,
      starts: 2 * before,
      atOnce: 1,
      events: ['Starts again: everything that its last run left is removed first'],
    });
  });
});

describe.each(['stopContainer', 'removeContainer', 'removePodSandbox'] as const)(
  'a kill of the agent at the %s of a job',
  (step) => {
    test.each(['Never', 'OnFailure'])('with restartPolicy %s that is started again changes nothing', async (policy) => {
      const world = await World.make();
      const pod = makeJob(policy);
      const engine = await boot(world, pod);
      await world.until(() => engine.isReady(name));
      const release = world.runtime.hang(step);
      const one = { world, engine };
      await ask(one, 'stop');
      if (step !== 'stopContainer') await world.until(() => isFinished(engine));
      await ask(one, 'start');
      await world.until(() => world.runtime.requestsOf(step).length > 0);
      await world.pass(1000);
      engine.crash();
      const next = await boot(world, pod);
      release();
      await world.until(() => world.runtime.running().length === 1 && next.isReady(name));
      await world.pass(60_000);
      expect({ ...shown({ world, engine: next }), events: next.messages('RunsAnew').length }).toEqual({
        phase: 'Running',
        starts: 2,
        atOnce: 1,
        events: 1,
      });
    });
  },
);

describe('repeated stops and starts are not a crash loop:', () => {
  test.each([
    ['a program that ignores SIGTERM', { stopAfterMs: Infinity, stopExitCode: 137 }],
    ['a program that ends at once', {}],
  ])('%s', async (_what, script) => {
    const world = await World.make();
    world.runtime.script('main', script);
    const engine = await boot(world, makeJob('Always', { terminationGracePeriodSeconds: 2 }));
    const one = { world, engine };
    await world.until(() => engine.isReady(name));
    for (let time = 1; time <= 4; time++) {
      await ask(one, 'stop');
      await world.until(() => isFinished(engine));
      await world.pass(100);
      await ask(one, 'start');
      await world.until(() => startsOf(world) === time + 1);
      await world.pass(100);
    }
    expect(engine.messages('BackOff')).toEqual([]);
  });

  test('also if it is started while it stops', async () => {
    const world = await World.make();
    world.runtime.script('main', { stopAfterMs: 5000, stopExitCode: 137 });
    const engine = await boot(world, makeJob('Always'));
    const one = { world, engine };
    await world.until(() => engine.isReady(name));
    for (let time = 1; time <= 4; time++) {
      await ask(one, 'stop');
      await ask(one, 'start');
      await world.until(() => startsOf(world) === time + 1);
      await world.pass(100);
    }
    expect(engine.messages('BackOff')).toEqual([]);
  });
});
