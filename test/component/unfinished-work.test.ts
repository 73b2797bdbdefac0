import { describe, expect, test } from 'vitest';
import type { Pod, RawPod } from '../../src/api/types.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const name = 'web-edge1';
const exec = (word: string) => ({ exec: { command: [word] } });
const hooked = { name: 'main', image: 'app:1', lifecycle: { postStart: exec('post'), preStop: exec('pre') } };
const plain = { name: 'app', image: 'app:1' };

const placements: Record<string, Partial<RawPod['spec']>> = {
  'a container': { containers: [hooked] },
  'a container of a job': { restartPolicy: 'Never', containers: [hooked] },
  'a sidecar': { initContainers: [{ ...hooked, restartPolicy: 'Always' }], containers: [plain] },
};

async function boot(world: World, pod: Pod): Promise<Engine> {
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.setDerived(pod);
  return engine;
}

const createdIn = (world: World): string[] =>
  world.runtime.requestsOf('createContainer').map(({ config }) => config?.metadata?.name ?? '');
const startsOf = (world: World): number => world.runtime.requestsOf('startContainer').length;
const hooksOf = (world: World, word: string): number =>
  world.runtime.requestsOf('execSync').filter(({ cmd }) => cmd[0] === word).length;
const execCalls = (world: World): number => world.runtime.requestsOf('execSync').length;

const ends: Record<string, (engine: Engine) => Promise<void>> = {
  SIGKILL: (engine) => {
    engine.crash();
    return Promise.resolve();
  },
  SIGTERM: (engine) => engine.kill(),
};

describe.each(Object.entries(ends))('after a %s of the agent', (_signal, end) => {
  describe.each(Object.entries(placements))('in the postStart hook of %s', (placement, spec) => {
    /** A world whose agent ended while the hook ran. */
    async function interrupted(): Promise<{ world: World; pod: Pod; release: () => void }> {
      const world = await World.make();
      const pod = makeStaticPod('web', { spec });
      const release = world.runtime.hang('execSync');
      const engine = await boot(world, pod);
      await world.until(() => execCalls(world) === 1);
      await world.pass(3000);
      await end(engine);
      return { world, pod, release };
    }

    test('the next one runs it again, and the container is not Ready before', async () => {
      const { world, pod, release } = await interrupted();
      const next = await boot(world, pod);
      await world.until(() => execCalls(world) === 2);
      await world.pass(3000);
      const wasReady = next.isReady(name);
      const startsBefore = startsOf(world);
      release();
      await world.until(() => next.isReady(name));
      await world.pass(60_000);
      expect({
        wasReady,
        startsBefore,
        hooks: hooksOf(world, 'post'),
        events: next.messages('RepeatedPostStartHook'),
        starts: startsOf(world),
      }).toEqual({
        wasReady: false,
        startsBefore: 1,
        hooks: 2,
        events: ['PostStart hook of container main did not finish; running it again'],
        starts: placement === 'a sidecar' ? 2 : 1,
      });
      await next.kill();
      const last = await boot(world, pod);
      await world.until(() => last.isReady(name));
      expect(hooksOf(world, 'post')).toBe(2);
    });

    test('a container whose hook fails then is killed', async () => {
      const { world, pod, release } = await interrupted();
      world.runtime.scriptExec(({ cmd }) => ({ exitCode: cmd[0] === 'post' ? 1 : 0 }));
      release();
      const next = await boot(world, pod);
      await world.until(() => next.messages('FailedPostStartHook').length > 0);
      await world.until(() => world.runtime.requestsOf('stopContainer').length > 0);
      expect(next.isReady(name)).toBe(false);
    });
  });

  test('between the start of a container and its hook, the next one runs the hook', async () => {
    const world = await World.make();
    const pod = makeStaticPod('web', { spec: { containers: [hooked] } });
    const release = world.runtime.hang('startContainer');
    const engine = await boot(world, pod);
    await world.until(() => startsOf(world) === 1);
    await end(engine);
    release();
    await world.until(() => world.runtime.running().length === 1);
    const next = await boot(world, pod);
    await world.until(() => next.isReady(name));
    expect({ hooks: hooksOf(world, 'post'), running: world.runtime.running() }).toEqual({
      hooks: 1,
      running: ['web-edge1/main#0'],
    });
  });

  test('between the creation of a container and its start, one is created again', async () => {
    const world = await World.make();
    const pod = makeStaticPod('web', { spec: { containers: [plain] } });
    const release = world.runtime.hang('createContainer');
    const engine = await boot(world, pod);
    await world.until(() => world.runtime.requestsOf('createContainer').length === 1);
    await end(engine);
    release();
    await world.until(async () => (await world.inventory()).includes('web-edge1/app#0 CONTAINER_CREATED'));
    const next = await boot(world, pod);
    await world.until(() => next.isReady(name));
    await world.pass(60_000);
    expect({
      atOnce: world.runtime.maxConcurrentRunning(name, 'app'),
      running: world.runtime.running().length,
      events: next.messages('Started'),
    }).toEqual({ atOnce: 1, running: 1, events: ['Container started'] });
  });

  test('between the creation of a container and its start, and a reboot, all init containers run first', async () => {
    const world = await World.make();
    const side = { ...plain, name: 'side', restartPolicy: 'Always', startupProbe: exec('probe') } as const;
    const initContainers = [{ name: 'first', image: 'app:1' }, { name: 'second', image: 'app:1' }, side];
    for (const init of ['first', 'second']) world.runtime.script(init, { exitAfterMs: 1000 });
    const pod = makeStaticPod('web', { spec: { initContainers, containers: [plain] } });
    const releaseProbe = world.runtime.hang('execSync');
    const engine = await boot(world, pod);
    await world.until(() => execCalls(world) === 1);
    const release = world.runtime.hang('createContainer');
    releaseProbe();
    await world.until(() => createdIn(world).at(-1) === 'app');
    await end(engine);
    release();
    await world.until(async () => (await world.inventory()).includes('web-edge1/app#0 CONTAINER_CREATED'));
    world.runtime.reboot({ forgets: false });
    const before = createdIn(world).length;
    const next = await boot(world, pod);
    await world.until(() => next.isReady(name));
    expect(createdIn(world).slice(before)).toEqual(['first', 'second', 'side', 'app']);
  });

  test('in the preStop hook of a pod that an operator stops, the next one runs it again', async () => {
    const world = await World.make();
    const pod = makeStaticPod('web', { spec: { containers: [hooked] } });
    const engine = await boot(world, pod);
    await world.until(() => engine.isReady(name));
    const release = world.runtime.hang('execSync');
    const asked = engine.kubelet.operate({ action: 'stop', pod: { namespace: 'default', name } });
    await world.until(() => hooksOf(world, 'pre') === 1);
    await asked;
    await end(engine);
    const next = await boot(world, pod);
    await world.until(() => hooksOf(world, 'pre') === 2);
    release();
    await world.until(() => next.pod(name)?.worker.state === 'finished');
    expect({
      reason: next.pod(name)?.pod.status?.reason,
      running: world.runtime.running(),
      events: next.messages('Killing'),
    }).toEqual({ reason: 'Stopped', running: [], events: ['Stopping container main'] });
  });
});
