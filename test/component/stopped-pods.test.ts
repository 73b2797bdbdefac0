import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Container, Pod, RawPod } from '../../src/api/types.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const web = { namespace: 'default', name: 'web-edge1' };

/** A pod with an emptyDir of at most 64 KiB. Without a UID of its own, as most manifests. */
function cached(container: Partial<Container> = {}, spec: Partial<RawPod['spec']> = {}): Pod {
  const volumeMounts = [{ name: 'cache', mountPath: '/cache' }];
  return makeStaticPod('web', {
    spec: {
      containers: [{ name: 'main', image: 'app:1', volumeMounts, ...container }],
      volumes: [{ name: 'cache', emptyDir: { sizeLimit: '64Ki' } }],
      ...spec,
    },
  });
}

interface Running {
  world: World;
  engine: Engine;
  source: ManualSource;
  /** Path of the emptyDir of the first revision. */
  cache: string;
}

async function running(first: Pod = cached()): Promise<Running> {
  const world = await World.make();
  for (const image of ['app:1', 'app:2']) world.runtime.addImage(image);
  const source = new ManualSource();
  const shutdown = { shutdownGracePeriodSeconds: 30, shutdownGracePeriodCriticalPodsSeconds: 10, byPodPriority: [] };
  const engine = await world.boot({ sources: [source], node: makeNodeConfig(world.folder, { shutdown }) });
  source.setDerived(first);
  await world.until(() => engine.isReady('web-edge1'));
  await world.pass(3000);
  const cache = join(world.rootDir, 'pods', first.metadata.uid, 'volumes/kubernetes.io~empty-dir/cache');
  return { world, engine, source, cache };
}

/** Asks, and lets time pass until the answer. */
async function ask({ world, engine }: Running, action: 'stop' | 'start' | 'retry'): Promise<void> {
  let isDone = false;
  const asked = engine.kubelet.operate({ action, pod: web }).finally(() => {
    isDone = true;
  });
  await world.until(() => isDone);
  await asked;
}

async function stopped(first?: Pod): Promise<Running> {
  const one = await running(first);
  await ask(one, 'stop');
  await one.world.until(() => workerOf(one) === 'finished');
  return one;
}

/** Fills the emptyDir beyond its limit. */
async function evicted(first?: Pod): Promise<Running> {
  const one = await running(first);
  await writeFile(join(one.cache, 'file'), Buffer.alloc(128 * 1024, 1));
  await one.world.until(() => workerOf(one) === 'finished');
  return one;
}

/** Ends the agent like SIGTERM, and starts the next one after `meanwhile`. */
async function restartAgent(
  one: Running,
  declared: Pod,
  meanwhile = (): Promise<void> => Promise.resolve(),
): Promise<Running> {
  await one.engine.kill();
  await meanwhile();
  const source = new ManualSource();
  const engine = await one.world.boot({ sources: [source] });
  source.setDerived(declared);
  return { ...one, engine, source };
}

const workerOf = ({ engine }: Running): string | undefined => engine.pod('web-edge1')?.worker.state;
const reasonOf = ({ engine }: Running): string | undefined => engine.pod('web-edge1')?.pod.status?.reason;

/** How often its status became a Failed one. */
const failuresOf = ({ engine }: Running): number =>
  engine.events.events.filter((event) => event.type === 'PodStatusChanged' && event.phase === 'Failed').length;

test.each(['ends', 'ends and is started again'])(
  'a cancelled shutdown of the node keeps the data of a pod that %s',
  async (what) => {
    const one = await running();
    await writeFile(join(one.cache, 'file'), 'data');
    const release = one.world.runtime.hang('stopContainer');
    await ask(one, 'stop');
    if (what !== 'ends') await ask(one, 'start');
    const shutdown = one.engine.kubelet.shutDownPods();
    await one.world.pass(100);
    one.engine.kubelet.cancelShutdown();
    release();
    await shutdown;
    await one.world.pass(60_000);
    expect({ reason: reasonOf(one), running: one.world.runtime.running(), files: await readdir(one.cache) }).toEqual(
      what === 'ends'
        ? { reason: 'Stopped', running: [], files: ['file'] }
        : { reason: undefined, running: ['web-edge1/main#1'], files: ['file'] },
    );
  },
);

test.each([
  ['another image', { image: 'app:2' }],
  ['other resources', { resources: { requests: { cpu: '100m' }, limits: { cpu: '200m' } } }],
] satisfies [string, Partial<Container>][])('a stopped pod keeps its data with %s', async (_what, changed) => {
  const one = await running(cached({ resources: { requests: { cpu: '100m' }, limits: { cpu: '100m' } } }));
  await writeFile(join(one.cache, 'file'), 'data');
  await ask(one, 'stop');
  await one.world.until(() => workerOf(one) === 'finished');
  const uid = one.engine.pod('web-edge1')?.pod.metadata.uid;
  const next = cached({ resources: { requests: { cpu: '100m' }, limits: { cpu: '100m' } }, ...changed });
  one.source.setDerived(next);
  await one.world.pass(10_000);
  const whileStopped = one.world.runtime.running();
  await ask(one, 'start');
  await one.world.until(() => one.engine.isReady('web-edge1'));
  await one.world.pass(10_000);
  const pod = one.engine.pod('web-edge1')?.pod;
  expect({
    whileStopped,
    uid: pod?.metadata.uid,
    container: pod?.spec.containers[0],
    images: one.world.runtime.requestsOf('createContainer').map(({ config }) => config?.image?.userSpecifiedImage),
    files: await readdir(one.cache),
    running: one.world.runtime.running(),
  }).toEqual({
    whileStopped: [],
    uid,
    container: next.spec.containers[0],
    images: ['app:1', next.spec.containers[0]?.image],
    files: ['file'],
    running: ['web-edge1/main#1'],
  });
});

test.each(['Always', 'Never'])(
  'a pod with restartPolicy %s that was evicted, then stopped, starts again after a restart of the agent',
  async (restartPolicy) => {
    const first = cached({}, { restartPolicy });
    const one = await evicted(first);
    await ask(one, 'stop');
    const next = await restartAgent(one, first);
    await next.world.until(() => reasonOf(next) === 'Stopped' && workerOf(next) === 'finished');
    const failuresBefore = failuresOf(next);
    await ask(next, 'start');
    await next.world.until(() => next.engine.isReady('web-edge1') && workerOf(next) === 'sync');
    await next.world.pass(60_000);
    expect({
      failures: failuresOf(next) - failuresBefore,
      running: next.world.runtime.running(),
      files: await readdir(next.cache),
    }).toEqual({ failures: 0, running: ['web-edge1/main#0'], files: [] });
  },
);

describe('a removal before a fresh start that fails is tried again:', () => {
  test.each(['Never', 'OnFailure'])('of a stopped job with restartPolicy %s', async (restartPolicy) => {
    const one = await running(cached({}, { restartPolicy }));
    one.world.runtime.script('main', { stopExitCode: 0 });
    await ask(one, 'stop');
    await one.world.until(() => workerOf(one) === 'finished');
    one.world.runtime.injectError('removeContainer', new Error('device busy'));
    await ask(one, 'start');
    await one.world.until(() => one.engine.isReady('web-edge1'));
    await one.world.pass(10_000);
    expect(await one.world.inventory()).toEqual(['web-edge1#0 SANDBOX_READY', 'web-edge1/main#0 CONTAINER_RUNNING']);
  });

  /** A stopped job that was asked to start, and whose containers cannot be removed until `fix` is called. */
  async function blocked(): Promise<Running & { fix: () => void }> {
    const one = await stopped(cached({}, { restartPolicy: 'Never' }));
    const busy = new Error('device busy');
    const fix = one.world.runtime.injectError('removeContainer', busy, { times: Infinity });
    await ask(one, 'start');
    await one.world.pass(30_000);
    return { ...one, fix };
  }

  test('it ends with the manifest, as the end of any pod does', async () => {
    const one = await blocked();
    one.source.setDerived();
    await one.world.until(() => workerOf(one) === 'terminated');
    one.fix();
    await one.world.until(() => workerOf(one) === undefined);
    expect(await one.world.inventory()).toEqual([]);
  });

  test('it makes way for a changed manifest', async () => {
    const one = await blocked();
    one.source.setDerived(cached({ command: ['other'] }, { restartPolicy: 'Never' }));
    await one.world.until(() => workerOf(one) === 'terminated');
    one.fix();
    await one.world.until(() => one.engine.isReady('web-edge1'));
    expect(one.world.runtime.running()).toEqual(['web-edge1/main#0']);
  });

  test('it ends with a stop', async () => {
    const one = await blocked();
    await ask(one, 'stop');
    await one.world.until(() => workerOf(one) === 'finished');
    expect({ reason: reasonOf(one), running: one.world.runtime.running() }).toEqual({ reason: 'Stopped', running: [] });
  });

  test('of an evicted pod, so that the next agent does not evict it', async () => {
    const one = await evicted();
    one.world.runtime.injectError('removePodSandbox', new Error('the network plugin hangs'));
    await one.world.until(() => one.engine.isReady('web-edge1') && workerOf(one) === 'sync');
    await one.world.pass(10_000);
    const next = await restartAgent(one, cached());
    await next.world.until(() => next.engine.isReady('web-edge1'));
    await next.world.pass(10_000);
    expect({ failures: failuresOf(next), inventory: await next.world.inventory() }).toEqual({
      failures: 0,
      inventory: ['web-edge1#0 SANDBOX_READY', 'web-edge1/main#0 CONTAINER_RUNNING'],
    });
  });
});

test.each([
  ['has stopped', (one: Running) => one.world.until(() => workerOf(one) === 'finished')],
  ['stops', (one: Running) => one.world.pass(100)],
])('a pod that ignores SIGTERM and is started once it %s starts at once, however often', async (_when, until) => {
  const one = await running();
  const { world, engine } = one;
  world.runtime.script('main', { stopAfterMs: Infinity });
  for (let round = 1; round <= 3; round++) {
    await ask(one, 'stop');
    await until(one);
    await world.pass(10);
    await ask(one, 'start');
    await world.until(() => world.runtime.requestsOf('startContainer').length > round);
    await world.pass(3000);
  }
  expect(engine.messages('BackOff')).toEqual([]);
});

test('a stop ends the revision of a manifest that changes meanwhile', async () => {
  const one = await running(cached({ env: [{ name: 'REVISION', value: '1' }] }));
  const asked = one.engine.kubelet.operate({ action: 'stop', pod: web });
  one.source.setDerived(cached({ env: [{ name: 'REVISION', value: '2' }] }));
  let isDone = false;
  void asked.then(() => {
    isDone = true;
  });
  await one.world.until(() => isDone);
  await one.world.pass(60_000);
  const [pod, ...others] = one.engine.kubelet.snapshot().pods;
  expect({
    running: one.world.runtime.running(),
    env: pod?.pod.spec.containers[0]?.env,
    reason: pod?.pod.status?.reason,
    others,
  }).toEqual({ running: [], env: [{ name: 'REVISION', value: '2' }], reason: 'Stopped', others: [] });
});

test('a stopped pod keeps its start time and those of its conditions over a restart of the agent', async () => {
  const one = await stopped();
  const timesOf = ({ engine }: Running): object => {
    const { startTime, conditions = [] } = engine.pod('web-edge1')?.pod.status ?? {};
    // The stop is carried out again.
    return { startTime, conditions: conditions.filter(({ type }) => type !== 'DisruptionTarget') };
  };
  await one.world.pass(600_000);
  const before = timesOf(one);
  const next = await restartAgent(one, cached());
  await next.world.until(() => reasonOf(next) === 'Stopped' && workerOf(next) === 'finished');
  expect(timesOf(next)).toEqual(before);
});

test('a stopped pod keeps its restart count when its dead containers are removed while no agent runs', async () => {
  const one = await running();
  one.world.runtime.exitContainer({ pod: 'web-edge1', container: 'main' }, 1);
  await one.world.until(() => one.world.runtime.running().includes('web-edge1/main#1'));
  await ask(one, 'stop');
  await one.world.until(() => workerOf(one) === 'finished');
  const next = await restartAgent(one, cached(), async () => {
    const { containers } = await one.world.runtime.listContainers();
    for (const { id } of containers) await one.world.runtime.removeContainer({ containerId: id });
  });
  await next.world.until(() => reasonOf(next) === 'Stopped' && workerOf(next) === 'finished');
  expect(next.engine.pod('web-edge1')?.pod.status?.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([
    1,
  ]);
});

test.each([
  ['in place', '1'],
  ['as a new pod', '2'],
])('retry pulls the image of an update %s that waits for it', async (_how, env) => {
  const revision = (image: string, value: string): Pod => cached({ image, env: [{ name: 'REVISION', value }] });
  const one = await running(revision('app:1', '1'));
  const fix = one.world.runtime.injectError('pullImage', new Error('no registry'), { times: Infinity });
  one.source.setDerived(revision('app:3', env));
  await one.world.pass(400_000);
  fix();
  const before = one.world.clock.monotonic();
  await ask(one, 'retry');
  await one.world.until(() => one.world.runtime.requestsOf('createContainer').length > 1);
  expect(one.world.clock.monotonic() - before).toBeLessThan(5000);
});
