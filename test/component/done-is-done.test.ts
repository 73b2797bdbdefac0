import { mkdir, rm } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { Pod, RawPod } from '../../src/api/types.ts';
import { parseEvictionThresholds } from '../../src/api/values/eviction-thresholds.ts';
import { defaultContainerGCPolicy } from '../../src/engine/gc/container-gc.ts';
import type { NodeConfig } from '../../src/engine/config/node-config.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { fillDisk, mountSmallDisk } from '../support/full-disk.ts';
import { type Engine, World } from './world.ts';

/** A pod of node `edge1` and what holds once each of its containers has done its part. */
interface Kind {
  spec: Partial<RawPod['spec']>;
  exitCodes?: Record<string, number>;
  /** Phase, or running containers, at which nothing more will happen. */
  phase: string;
  /** Starts of each container in the whole test. */
  starts: Record<string, number>;
}

const container = (name: string): NonNullable<RawPod['spec']>['containers'][number] => ({ name, image: 'app:1' });
const ending = (restartPolicy: string, ...names: string[]): Partial<RawPod['spec']> => ({
  restartPolicy,
  containers: names.map(container),
});

const kinds: Record<string, Kind> = {
  'a job that completed': { spec: ending('Never', 'job'), phase: 'Succeeded', starts: { job: 1 } },
  'a job that failed': { spec: ending('Never', 'job'), exitCodes: { job: 3 }, phase: 'Failed', starts: { job: 1 } },
  'a job that starts again only on failure': {
    spec: ending('OnFailure', 'job'),
    phase: 'Succeeded',
    starts: { job: 1 },
  },
  'a job with an init container and a sidecar': {
    spec: {
      ...ending('Never', 'job'),
      initContainers: [container('init'), { ...container('side'), restartPolicy: 'Always' }],
    },
    phase: 'Succeeded',
    starts: { init: 1, side: 1, job: 1 },
  },
  'a job whose init container failed': {
    spec: { ...ending('Never', 'job'), initContainers: [container('init')] },
    exitCodes: { init: 1 },
    phase: 'Failed',
    starts: { init: 1 },
  },
  'a pod past its deadline': {
    spec: { ...ending('Always', 'main'), activeDeadlineSeconds: 5 },
    phase: 'Failed',
    starts: { main: 1 },
  },
  'a container that completed beside one that runs': {
    spec: ending('OnFailure', 'job', 'main'),
    phase: 'Running',
    starts: { job: 1, main: 1 },
  },
  'a finished init container': {
    spec: { ...ending('Always', 'main'), initContainers: [container('init')] },
    phase: 'Running',
    starts: { init: 1, main: 1 },
  },
};

/** How what has ended leaves the runtime. Each resolves once it has. */
const losses: Record<string, (world: World, engine: Engine, pod: Pod) => Promise<Engine>> = {
  'the agent is killed': async (world, engine, pod) => {
    engine.crash();
    return boot(world, pod);
  },
  'crictl removes it': async (world, engine) => {
    await removeEnded(world);
    await world.pass(30_000);
    return engine;
  },
  'crictl removes it while no agent runs': async (world, engine, pod) => {
    await engine.kill();
    await removeEnded(world);
    return boot(world, pod);
  },
  'the agent is killed as soon as it has ended, and crictl removes it': async (world, engine, pod) => {
    engine.crash();
    await removeEnded(world);
    return boot(world, pod);
  },
  'the garbage collection keeps no dead containers': async (world, engine, pod) => {
    await engine.kill();
    const next = await boot(world, pod, { containerGC: keepNone });
    await world.until(async () => !(await world.inventory()).some((line) => line.endsWith('CONTAINER_EXITED')));
    await next.kill();
    return boot(world, pod);
  },
};

const keepNone = { ...defaultContainerGCPolicy, maxPerPodContainer: 0 };

async function boot(world: World, pod: Pod, config: Partial<NodeConfig> = {}): Promise<Engine> {
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source], node: makeNodeConfig(world.folder, config) });
  source.set(pod);
  return engine;
}

async function removeEnded(world: World): Promise<void> {
  const { containers } = await world.runtime.listContainers();
  for (const { id, state } of containers)
    if (state === 'CONTAINER_EXITED') await world.runtime.removeContainer({ containerId: id });
}

function startsOf(world: World): Record<string, number> {
  const starts: Record<string, number> = {};
  for (const { config } of world.runtime.requestsOf('createContainer')) {
    const name = config?.metadata?.name ?? '';
    starts[name] = (starts[name] ?? 0) + 1;
  }
  return starts;
}

/** Phase of the pod, its problems, and how each container that ended did. */
function shown(engine: Engine): object {
  const status = engine.pod('web-edge1')?.pod.status;
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return {
    phase: status?.phase,
    reason: status?.reason,
    containers: all.map(({ name, state, ready, restartCount }) => ({
      name,
      ready,
      restartCount,
      state: state?.terminated ?? Object.keys(state ?? {}),
    })),
  };
}

describe.each(Object.entries(kinds))(
  '%s does not run again, although',
  (_kind, { spec, exitCodes = {}, phase, starts }) => {
    test.each(Object.entries(losses))('%s', async (_loss, lose) => {
      const world = await World.make();
      for (const name of ['job', 'init'])
        world.runtime.script(name, { exitAfterMs: 1000, exitCode: exitCodes[name] ?? 0 });
      const pod = makeStaticPod('web', { spec });
      const engine = await boot(world, pod);
      const isSettled = ({ kubelet }: Engine): boolean =>
        kubelet
          .snapshot()
          .pods.some(
            ({ pod: { status }, worker }) =>
              status?.phase === phase && (phase === 'Running' || worker.state === 'finished'),
          );
      await world.until(() => isSettled(engine));
      if (phase === 'Running') await world.pass(5000);
      const before = shown(engine);
      const next = await lose(world, engine, pod);
      await world.until(() => isSettled(next));
      await world.pass(60_000);
      expect({ starts: startsOf(world), ...shown(next) }).toEqual({ starts, ...before });
    });
  },
);

const isFinished = (engine: Engine): boolean => engine.pod('web-edge1')?.worker.state === 'finished';
const job = makeStaticPod('web', { spec: ending('Never', 'job') });

/** A world in which the job has completed. */
async function completed(world?: World): Promise<{ world: World; engine: Engine }> {
  const made = world ?? (await World.make());
  made.runtime.script('job', { exitAfterMs: 1000 });
  const engine = await boot(made, job);
  await made.until(() => isFinished(engine));
  return { world: made, engine };
}

test.each(['Never', 'OnFailure'])(
  'a job with restartPolicy %s stays completed when only an instance that never started is left of it',
  async (policy) => {
    const world = await World.make();
    world.runtime.script('job', { exitAfterMs: 1000 });
    const pod = makeStaticPod('web', { spec: ending(policy, 'job') });
    const release = world.runtime.hang('createContainer');
    const first = await boot(world, pod);
    await world.until(() => world.runtime.requestsOf('createContainer').length === 1);
    first.crash();
    release();
    await world.until(async () => (await world.inventory()).includes('web-edge1/job#0 CONTAINER_CREATED'));
    const second = await boot(world, pod);
    await world.until(() => isFinished(second));
    await second.kill();
    await removeEnded(world);
    const third = await boot(world, pod);
    await world.pass(60_000);
    expect({ ...shown(third), finished: isFinished(third), starts: startsOf(world) }).toMatchObject({
      phase: 'Succeeded',
      finished: true,
      starts: { job: 2 },
    });
  },
);

describe('with a new runtime, a pod with restartPolicy', () => {
  test.each([
    ['Never', { job: 1, main: 2 }],
    ['OnFailure', { job: 1, main: 2 }],
    ['Always', { job: 2, main: 2 }],
  ])('%s starts what was not done', async (policy, starts) => {
    const world = await World.make();
    world.runtime.script('job', { exitAfterMs: 1000 });
    const pod = makeStaticPod('web', { spec: ending(policy, 'job', 'main') });
    const engine = await boot(world, pod);
    await world.until(() => world.runtime.running().length === 2);
    await world.pass(3000);
    await engine.kill();
    world.runtime.reboot({ forgets: true });
    world.runtime.script('job', {});
    const startsBefore = startsOf(world)['job'] ?? 0;
    await boot(world, pod);
    await world.pass(20_000);
    const { job: jobStarts = 0, main } = startsOf(world);
    expect({ job: jobStarts > startsBefore ? 2 : 1, main }).toEqual(starts);
  });

  test('Never stays completed', async () => {
    const { world, engine } = await completed();
    await engine.kill();
    world.runtime.reboot({ forgets: true });
    const next = await boot(world, job);
    await world.until(() => isFinished(next));
    expect({ starts: startsOf(world), phase: next.phase('web-edge1'), inventory: await world.inventory() }).toEqual({
      starts: { job: 1 },
      phase: 'Succeeded',
      inventory: [],
    });
  });

  test('Always runs its init containers first', async () => {
    const world = await World.make();
    world.runtime.script('init', { exitAfterMs: 1000 });
    const pod = makeStaticPod('web', { spec: { ...ending('Always', 'main'), initContainers: [container('init')] } });
    const engine = await boot(world, pod);
    await world.until(() => engine.isReady('web-edge1'));
    await engine.kill();
    world.runtime.reboot({ forgets: true });
    const next = await boot(world, pod);
    await world.until(() => next.isReady('web-edge1'));
    expect(startsOf(world)).toEqual({ init: 2, main: 2 });
  });
});

const diskBelow10Percent: NodeConfig['eviction'] = {
  thresholds:
    parseEvictionThresholds({
      evictionHard: { 'nodefs.available': '10%' },
      evictionSoft: {},
      evictionSoftGracePeriod: {},
      evictionMinimumReclaim: {},
      enforceNodeAllocatable: [],
    }) ?? [],
  pressureTransitionMs: 60_000,
  maxPodGracePeriodSeconds: 0,
  policy: 'byPriority',
};

describe('a node that runs short of disk space', () => {
  test('removes a completed job from the runtime, which stays completed for the next agent', async () => {
    const { world, engine } = await completed();
    await engine.kill();
    world.stats.amounts.diskAvailable = 50 * 1024 * 1024;
    const short = await boot(world, job, { eviction: diskBelow10Percent });
    await world.until(async () => (await world.inventory()).length === 0);
    await short.kill();
    const next = await boot(world, job, { eviction: diskBelow10Percent });
    await world.until(() => isFinished(next));
    const { phase, reason, containers } = shown(next) as Record<string, unknown>;
    expect({ starts: startsOf(world), phase, reason, containers }).toEqual({
      starts: { job: 1 },
      phase: 'Succeeded',
      reason: undefined,
      containers: [expect.objectContaining({ name: 'job', restartCount: 0 })],
    });
  });

  test('takes no completed job for one that it refuses', async () => {
    const { world, engine } = await completed();
    await engine.kill();
    world.stats.amounts.diskAvailable = 50 * 1024 * 1024;
    const source = new ManualSource();
    const next = await world.boot({
      sources: [source],
      node: makeNodeConfig(world.folder, { eviction: diskBelow10Percent }),
    });
    await world.until(() => next.kubelet.snapshot().pressures.length > 0);
    source.set(job);
    await world.until(() => next.phase('web-edge1') !== undefined);
    await world.pass(5000);
    expect({ phase: next.phase('web-edge1'), evicted: next.messages('Evicted') }).toEqual({
      phase: 'Succeeded',
      evicted: [],
    });
  });
});

test('a restart of all containers waits for a disk that can record that the done ones run again', async () => {
  const world = await World.make();
  world.runtime.addImage('app:1');
  await mkdir(world.rootDir);
  await mountSmallDisk(world.rootDir, 512);
  world.runtime.script('init', { exitAfterMs: 10 });
  const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In' as const, values: [42] } };
  const engine = await boot(
    world,
    makeStaticPod('web', {
      spec: {
        initContainers: [container('init')],
        containers: [{ ...container('main'), restartPolicy: 'Never', restartPolicyRules: [rule] }],
      },
    }),
  );
  await world.until(() => engine.isReady('web-edge1'));
  const ballast = await fillDisk(world.rootDir);
  world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 42);
  await world.pass(61_000);
  const whileFull = await world.inventory();
  await rm(ballast);
  await world.until(() => engine.isReady('web-edge1'));
  expect({ whileFull, starts: startsOf(world) }).toEqual({
    whileFull: ['web-edge1#0 SANDBOX_READY', 'web-edge1/init#0 CONTAINER_EXITED', 'web-edge1/main#0 CONTAINER_EXITED'],
    starts: { init: 2, main: 2 },
  });
});

test('a dead container stays in the runtime while a full disk cannot take how it ended', async () => {
  const world = await World.make();
  world.runtime.addImage('app:1');
  await mkdir(world.rootDir);
  await mountSmallDisk(world.rootDir, 512);
  const engine = await boot(world, job, { containerGC: keepNone });
  await world.until(() => world.runtime.running().length === 1);
  const ballast = await fillDisk(world.rootDir);
  world.runtime.exitContainer({ pod: 'web-edge1', container: 'job' }, 0);
  await world.until(() => isFinished(engine));
  await world.pass(61_000);
  const whileFull = await world.inventory();
  await rm(ballast);
  await world.until(async () => !(await world.inventory()).includes('web-edge1/job#0 CONTAINER_EXITED'));
  engine.crash();
  const next = await boot(world, job);
  await world.until(() => isFinished(next));
  expect({ whileFull, starts: startsOf(world), failed: engine.messages('ContainerGCFailed') }).toEqual({
    whileFull: ['web-edge1#0 SANDBOX_NOTREADY', 'web-edge1/job#0 CONTAINER_EXITED'],
    starts: { job: 1 },
    failed: [expect.stringContaining('no space left on device')],
  });
});
