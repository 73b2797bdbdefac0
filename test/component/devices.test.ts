import { once } from 'node:events';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Pod } from '../../src/api/types.ts';
import { defaultFeatureGates } from '../../src/api/values/feature-gates.ts';
import { parseDeviceCheckpoint } from '../../src/engine/container-manager/device-manager/device-checkpoint.ts';
import { openPlugins } from '../../src/plugins/open-plugins.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { type DirectPlugin, DirectPlugins, goodPlugin, healthy, never } from '../fakes/direct-plugins.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { silentFaults } from '../fakes/silent-faults.ts';
import { type Engine, World } from './world.ts';

/** One device of each of these resources. */
const podWith = (name: string, ...resources: string[]): Pod =>
  podWithLimits(name, Object.fromEntries(resources.map((one) => [one, '1'])));

function podWithLimits(name: string, limits: Record<string, string>): Pod {
  return makeStaticPod(name, { spec: { containers: [{ name: 'main', image: 'app:1', resources: { limits } }] } });
}

async function boot(
  world: World,
  plugins: Record<string, DirectPlugin>,
  featureGates = defaultFeatureGates,
): Promise<{ engine: Engine; source: ManualSource; direct: DirectPlugins }> {
  const source = new ManualSource();
  source.set();
  const direct = new DirectPlugins(world.clock);
  const node = makeNodeConfig(world.folder, { featureGates });
  const engine = await world.boot({ sources: [source], plugins: direct, node });
  await world.until(() => direct.isServed);
  for (const [resource, plugin] of Object.entries(plugins)) await direct.register(resource, plugin);
  await world.pass(200);
  return { engine, source, direct };
}

/** One pod for the plugin that hangs, one for a plugin that answers, and one without devices. */
const threePods = [podWith('stuck', 'a.example/hung'), podWith('other', 'a.example/good'), podWith('plain')];

function statusOf(engine: Engine, pod: string): object {
  const { phase, reason, message } = engine.pod(pod)?.pod.status ?? {};
  return { phase, reason, message };
}

/** Devices of each container that was created, as the good plugin gives them. */
const givenDevices = (world: World): string[][] =>
  world.runtime
    .requestsOf('createContainer')
    .map(({ config }) => (config?.envs ?? []).filter(({ key }) => key === 'DEVICES'))
    .map((variables) => variables.map(({ value }) => Buffer.from(value).toString()));

test.each([
  ['allocate', 120, 'Allocate failed due to '],
  ['getPreferredAllocation', 30, 'Allocate failed due to device plugin GetPreferredAllocation rpc failed with err: '],
])('a plugin that never answers %s keeps its pod waiting for %d s, and no other', async (method, limit, refusal) => {
  const world = await World.make();
  const hung = goodPlugin(healthy('d0', 'd1'));
  hung.answers['getDevicePluginOptions'] = () => ({ getPreferredAllocationAvailable: true });
  const { [method]: answer = never } = hung.answers;
  hung.answers[method] = never;
  const { engine, source } = await boot(world, { 'a.example/hung': hung, 'a.example/good': goodPlugin(healthy('g0')) });
  const since = world.clock.monotonic();
  source.set(...threePods);
  await world.until(() => engine.isReady('other-edge1') && engine.isReady('plain-edge1'));
  const [readyAfterMs, whileWaiting] = [world.clock.monotonic() - since, statusOf(engine, 'stuck-edge1')];
  await world.until(() => engine.phase('stuck-edge1') === 'Failed');
  const refusedAfterS = Math.round((world.clock.monotonic() - since) / 1000);
  const refused = statusOf(engine, 'stuck-edge1');
  hung.answers[method] = answer;
  hung.send(healthy('d0', 'd1', 'd2'));
  await world.until(() => engine.isReady('stuck-edge1'));
  expect({ isReadySoon: readyAfterMs < 5000, whileWaiting, refusedAfterS, refused }).toEqual({
    isReadySoon: true,
    whileWaiting: {
      phase: 'Pending',
      reason: 'WaitingForDevices',
      message: 'Device plugins are allocating its devices',
    },
    refusedAfterS: limit,
    refused: {
      phase: 'Failed',
      reason: 'UnexpectedAdmissionError',
      message:
        `Pod was rejected: ${refusal}rpc error: code = DeadlineExceeded desc = Deadline exceeded, ` +
        'which is unexpected. The agent tries again as soon as a pod stops or its devices change.',
    },
  });
});

test.each([
  [true, ['runs-edge1']],
  [false, ['done-edge1', 'refused-edge1', 'runs-edge1']],
])('with KubeletPodResourcesListUseActivePods=%s, pod resources are listed for %j', async (isOn, listed) => {
  const world = await World.make();
  world.runtime.script('done', { exitAfterMs: 1000 });
  const gates = { ...defaultFeatureGates, KubeletPodResourcesListUseActivePods: isOn };
  const { engine, source, direct } = await boot(world, { 'a.example/good': goodPlugin(healthy('g0')) }, gates);
  const done = makeStaticPod('done', {
    spec: { restartPolicy: 'Never', containers: [{ name: 'done', image: 'app:1' }] },
  });
  source.set(done, podWith('runs', 'a.example/good'), podWithLimits('refused', { 'a.example/good': '2' }));
  await world.until(() => engine.isReady('runs-edge1') && engine.phase('refused-edge1') === 'Failed');
  await world.until(() => engine.phase('done-edge1') === 'Succeeded');
  expect(
    direct.podResources
      ?.list()
      .map(({ name }) => name)
      .sort(),
  ).toEqual(listed);
  await world.end();
});

test('a plugin that never answers PreStartContainer keeps its container waiting, and is asked again', async () => {
  const world = await World.make();
  const hung = goodPlugin(healthy('d0'));
  hung.answers['getDevicePluginOptions'] = () => ({ preStartRequired: true });
  hung.answers['preStartContainer'] = never;
  const { engine, source } = await boot(world, { 'a.example/hung': hung, 'a.example/good': goodPlugin(healthy('g0')) });
  source.set(...threePods);
  await world.until(() => engine.isReady('other-edge1') && engine.isReady('plain-edge1'));
  await world.until(() => engine.waitingReason('stuck-edge1') === 'CreateContainerConfigError');
  const state = engine.pod('stuck-edge1')?.pod.status?.containerStatuses?.[0]?.state;
  await world.until(() => hung.calls.filter((call) => call === 'preStartContainer').length === 2);
  delete hung.answers['preStartContainer'];
  await world.until(() => engine.isReady('stuck-edge1'));
  expect({ state, allocations: hung.calls.filter((call) => call === 'allocate').length }).toEqual({
    state: {
      waiting: {
        reason: 'CreateContainerConfigError',
        message:
          'device plugin PreStartContainer rpc failed with err: ' +
          'rpc error: code = DeadlineExceeded desc = Deadline exceeded',
      },
    },
    allocations: 1,
  });
});

test('a plugin that another one replaced is disconnected, and its later lists do not count', async () => {
  const world = await World.make();
  const [old, next] = [goodPlugin(healthy('old')), goodPlugin([{ ID: 'new', health: 'Unhealthy' }])];
  const { engine, source, direct } = await boot(world, { 'a.example/dev': old });
  await direct.register('a.example/dev', next);
  await world.pass(200);
  expect([old.streams.size, next.streams.size]).toEqual([0, 1]);
  old.send(healthy('old', 'older'));
  source.set(podWith('app', 'a.example/dev'));
  await world.until(() => engine.phase('app-edge1') === 'Failed');
  next.send(healthy('new'));
  await world.until(() => engine.isReady('app-edge1'));
  expect([old, next].map(({ calls }) => calls.filter((call) => call === 'allocate').length)).toEqual([0, 1]);
});

test('the status of a container follows the health of its devices', async () => {
  const world = await World.make();
  const plugin = goodPlugin(healthy('d0', 'd1'));
  const { engine, source } = await boot(world, { 'a.example/dev': plugin });
  source.set(podWith('app', 'a.example/dev'), podWith('plain'));
  await world.until(() => engine.isReady('app-edge1') && engine.isReady('plain-edge1'));
  const seen: unknown[] = [];
  const look = (): void => {
    const [app, plain] = ['app-edge1', 'plain-edge1'].map((name) => engine.pod(name)?.pod.status?.containerStatuses);
    seen.push([app?.[0]?.allocatedResourcesStatus, plain?.[0]?.allocatedResourcesStatus]);
  };
  look();
  for (const devices of [[{ ID: 'd0', health: 'Unhealthy' }], healthy('d0'), healthy('d1')]) {
    plugin.send(devices);
    await world.pass(1000);
    look();
  }
  const shown = (health: string): unknown => [
    [{ name: 'a.example/dev', resources: [{ resourceID: 'd0', health }] }],
    undefined,
  ];
  expect({ seen, running: world.runtime.running() }).toEqual({
    seen: ['Healthy', 'Unhealthy', 'Healthy', 'Unknown'].map(shown),
    running: ['app-edge1/main#0', 'plain-edge1/main#0'],
  });
});

test('without the feature gate the status of a container has no devices', async () => {
  const world = await World.make();
  const gates = { ...defaultFeatureGates, ResourceHealthStatus: false };
  const { engine, source } = await boot(world, { 'a.example/dev': goodPlugin(healthy('d0')) }, gates);
  source.set(podWith('app', 'a.example/dev'));
  await world.until(() => engine.isReady('app-edge1'));
  expect(engine.pod('app-edge1')?.pod.status?.containerStatuses?.[0]).not.toHaveProperty('allocatedResourcesStatus');
});

test('a plugin that lists nonsense is disconnected, and its devices count as unhealthy', async () => {
  const world = await World.make();
  const plugin = goodPlugin(healthy('d0', 'd1'));
  const { engine, source } = await boot(world, { 'a.example/dev': plugin });
  source.set(podWith('app', 'a.example/dev'));
  await world.until(() => engine.isReady('app-edge1'));
  plugin.send([{ ID: 'x'.repeat(254), health: 'Healthy' }]);
  await world.until(() => plugin.streams.size === 0);
  source.set(podWith('app', 'a.example/dev'), podWith('late', 'a.example/dev'));
  await world.until(() => engine.phase('late-edge1') === 'Failed');
  expect({ late: statusOf(engine, 'late-edge1'), running: world.runtime.running() }).toEqual({
    late: {
      phase: 'Failed',
      reason: 'UnexpectedAdmissionError',
      message:
        'Pod was rejected: Allocate failed due to no healthy devices present; cannot allocate unhealthy devices ' +
        'a.example/dev, which is unexpected. The agent tries again as soon as a pod stops or its devices change.',
    },
    running: ['app-edge1/main#0'],
  });
});

test('a container that ends without its plugin starts again for five minutes, and then when the plugin is back', async () => {
  const world = await World.make();
  const plugin = goodPlugin(healthy('d0', 'd1'));
  const { engine, source, direct } = await boot(world, { 'a.example/dev': plugin });
  source.set(podWith('app', 'a.example/dev'));
  await world.until(() => engine.isReady('app-edge1'));
  plugin.send([{ ID: 'x'.repeat(254), health: 'Healthy' }]);
  await world.until(() => plugin.streams.size === 0);
  const end = (): void => {
    world.runtime.exitContainer({ pod: 'app-edge1', container: 'main' }, 1);
  };
  end();
  await world.until(() => world.runtime.running().includes('app-edge1/main#1'));
  await world.pass(301_000);
  end();
  await world.until(() => engine.waitingReason('app-edge1') === 'CreateContainerConfigError');
  const state = engine.pod('app-edge1')?.pod.status?.containerStatuses?.[0]?.state;
  plugin.devices = healthy('d0', 'd1');
  await direct.register('a.example/dev', plugin);
  await world.until(() => world.runtime.running().includes('app-edge1/main#2'));
  expect({ state, given: givenDevices(world) }).toEqual({
    state: {
      waiting: {
        reason: 'CreateContainerConfigError',
        message: 'endpoint not found in cache for a registered resource: a.example/dev',
      },
    },
    given: [['d0'], ['d0'], ['d0']],
  });
});

test('a resource is ignored until a plugin offers it, and the next start of a container gets its device', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const plugins = new DirectPlugins(world.clock);
  const engine = await world.boot({ sources: [source], plugins });
  source.set(podWith('app', 'a.example/dev'));
  await world.until(() => engine.isReady('app-edge1'));
  await plugins.register('a.example/dev', goodPlugin(healthy('d0')));
  await world.pass(200);
  world.runtime.exitContainer({ pod: 'app-edge1', container: 'main' }, 1);
  await world.until(() => world.runtime.running().includes('app-edge1/main#1'));
  expect(givenDevices(world)).toEqual([[], ['d0']]);
});

test('a start removes the sockets of plugins, which register again then, and keeps everything else', async () => {
  const world = await World.make();
  const folder = join(world.rootDir, 'device-plugins');
  await mkdir(join(folder, 'of-a-plugin'), { recursive: true });
  await writeFile(join(folder, 'notes'), '');
  const plugin = createServer().listen(join(folder, 'first.sock'));
  await once(plugin, 'listening');
  // The server removes only the name that it listened on.
  await rename(join(folder, 'first.sock'), join(folder, 'dev.sock'));
  plugin.close();
  await boot(world, {});
  const left = (await readdir(folder)).filter((name) => !name.startsWith('kubelet_internal_checkpoint'));
  expect(left).toEqual(['notes', 'of-a-plugin']);
});

test('the check of devices fails until their registration socket is served, and a stopped agent is well', async () => {
  const world = await World.make();
  const socket = join(world.rootDir, 'device-plugins', 'kubelet.sock');
  // A start leaves folders, and none can become a socket.
  await mkdir(socket, { recursive: true });
  const plugins = openPlugins({ faults: silentFaults(), clock: world.clock });
  const engine = await world.boot({ sources: [new ManualSource()], plugins });
  const { kubelet } = engine;
  const failing = 'device plugin registration gRPC server failed and no device plugins can register';
  const early = kubelet.devicePluginsUnhealthyBecause();
  await world.until(() => kubelet.snapshot().faults.some(({ part }) => part === 'device plugins'));
  const blocked = kubelet.devicePluginsUnhealthyBecause();
  await rm(socket, { recursive: true });
  await world.until(() => kubelet.devicePluginsUnhealthyBecause() === undefined);
  await engine.kill();
  const stopped = kubelet.devicePluginsUnhealthyBecause();
  expect({ early, blocked, stopped }).toEqual({ early: failing, blocked: failing, stopped: undefined });
});

test('an agent without plugins passes the check of devices', async () => {
  const { kubelet } = await (await World.make()).boot({ sources: [new ManualSource()] });
  expect(kubelet.devicePluginsUnhealthyBecause()).toBeUndefined();
});

test('two refused pods wait for devices, and are asked for again only when these change', async () => {
  const world = await World.make();
  const plugin = goodPlugin([{ ID: 'd0', health: 'Unhealthy' }]);
  const { engine, source } = await boot(world, { 'a.example/dev': plugin });
  source.set(podWith('one', 'a.example/dev'));
  await world.until(() => engine.phase('one-edge1') === 'Failed');
  source.set(podWith('one', 'a.example/dev'), podWith('two', 'a.example/dev'));
  await world.until(() => ['one-edge1', 'two-edge1'].every((name) => engine.phase(name) === 'Failed'));
  plugin.send(healthy('d0', 'd1'));
  await world.until(() => ['one-edge1', 'two-edge1'].every((name) => engine.isReady(name)));
  expect(plugin.calls.filter((call) => call === 'allocate')).toHaveLength(2);
});

test('a refused pod frees its other devices for a pod that lacked them, and is not tried again itself', async () => {
  const world = await World.make();
  const [first, second] = [goodPlugin(healthy('d0')), goodPlugin([{ ID: 'e0', health: 'Unhealthy' }])];
  const { allocate = never } = first.answers;
  let answer: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  first.answers['allocate'] = (request) => answered.then(() => allocate(request));
  const { engine, source } = await boot(world, { 'a.example/first': first, 'a.example/second': second });
  const both = podWith('both', 'a.example/first', 'a.example/second');
  source.set(both);
  await world.until(() => first.calls.includes('allocate'));
  source.set(both, podWith('one', 'a.example/first'));
  await world.until(() => engine.phase('one-edge1') === 'Failed');
  const whileHeld = statusOf(engine, 'one-edge1');
  answer();
  await world.until(() => engine.isReady('one-edge1'));
  await world.pass(60_000);
  const refusal = (why: string): object => ({
    phase: 'Failed',
    reason: 'UnexpectedAdmissionError',
    message:
      `Pod was rejected: Allocate failed due to ${why}, which is unexpected. ` +
      'The agent tries again as soon as a pod stops or its devices change.',
  });
  expect({
    whileHeld,
    both: statusOf(engine, 'both-edge1'),
    running: world.runtime.running(),
    allocations: first.calls.filter((call) => call === 'allocate').length,
  }).toEqual({
    whileHeld: refusal('requested number of devices unavailable for a.example/first. Requested: 1, Available: 0'),
    both: refusal('no healthy devices present; cannot allocate unhealthy devices a.example/second'),
    running: ['one-edge1/main#0'],
    allocations: 2,
  });
});

/** A plugin with these devices, and its calls of Allocate that wait for their answer. */
function slowPlugin(...ids: string[]): { plugin: DirectPlugin; pending: (() => void)[] } {
  const plugin = goodPlugin(healthy(...ids));
  const { allocate = never } = plugin.answers;
  const pending: (() => void)[] = [];
  plugin.answers['allocate'] = (request) =>
    new Promise<void>((resolve) => pending.push(resolve)).then(() => allocate(request));
  return { plugin, pending };
}

const answerNext = (pending: (() => void)[]): void => pending.shift()?.();

test('a pod that is moved away and back while its plugin answers has no device that another pod gets', async () => {
  const world = await World.make();
  const { plugin, pending } = slowPlugin('d0', 'd1');
  const { engine, source } = await boot(world, { 'a.example/dev': plugin });
  const [moved, other] = [podWith('moved', 'a.example/dev'), podWith('other', 'a.example/dev')];
  source.set(moved);
  await world.until(() => pending.length === 1);
  source.set();
  await world.until(() => engine.pod('moved-edge1') === undefined);
  source.set(moved);
  await world.until(() => engine.pod('moved-edge1') !== undefined);
  await world.pass(1000);
  const askedTwice = pending.length === 2;
  answerNext(pending);
  await world.until(() => engine.isReady('moved-edge1'));
  if (askedTwice) answerNext(pending);
  source.set(moved, other);
  await world.until(() => pending.length === 1);
  answerNext(pending);
  await world.until(() => engine.isReady('other-edge1'));
  expect(givenDevices(world)).toEqual([['d0'], ['d1']]);
});

test.each(['removed', 'stopped'])(
  'a pod that is %s while its plugin answers leaves its device to another',
  async (how) => {
    const world = await World.make();
    const { plugin, pending } = slowPlugin('d0');
    const { engine, source } = await boot(world, { 'a.example/dev': plugin });
    const [first, other] = [podWith('first', 'a.example/dev'), podWith('other', 'a.example/dev')];
    source.set(first);
    await world.until(() => pending.length === 1);
    source.set(first, other);
    await world.until(() => engine.phase('other-edge1') === 'Failed');
    if (how === 'removed') source.set(other);
    else await engine.kubelet.operate({ action: 'stop', pod: { namespace: 'default', name: 'first-edge1' } });
    await world.pass(1000);
    answerNext(pending);
    await world.until(() => pending.length === 1);
    answerNext(pending);
    await world.until(() => engine.isReady('other-edge1'));
    expect({ given: givenDevices(world), running: world.runtime.running() }).toEqual({
      given: [['d0']],
      running: ['other-edge1/main#0'],
    });
  },
);

test('a container whose plugin ended is not started unprepared, but once the plugin is back', async () => {
  const world = await World.make();
  const plugin = goodPlugin(healthy('d0'));
  plugin.answers['getDevicePluginOptions'] = () => ({ preStartRequired: true });
  const { engine, source, direct } = await boot(world, { 'a.example/dev': plugin });
  source.set(podWith('app', 'a.example/dev'));
  await world.until(() => engine.isReady('app-edge1'));
  plugin.send([{ ID: '', health: 'Healthy' }]);
  await world.until(() => plugin.streams.size === 0);
  world.runtime.exitContainer({ pod: 'app-edge1', container: 'main' }, 1);
  await world.until(() => engine.waitingReason('app-edge1') === 'CreateContainerConfigError');
  const state = engine.pod('app-edge1')?.pod.status?.containerStatuses?.[0]?.state;
  plugin.devices = healthy('d0');
  await direct.register('a.example/dev', plugin);
  await world.until(() => world.runtime.running().includes('app-edge1/main#1'));
  expect({ state, prepared: plugin.calls.filter((call) => call === 'preStartContainer').length }).toEqual({
    state: {
      waiting: {
        reason: 'CreateContainerConfigError',
        message: 'device plugin PreStartContainer rpc failed with err: endpoint a.example/dev has been stopped',
      },
    },
    prepared: 2,
  });
});

test('a container that starts after a restart of the agent does not wait for its plugin', async () => {
  const world = await World.make();
  const plugin = goodPlugin(healthy('d0'));
  plugin.answers['getDevicePluginOptions'] = () => ({ preStartRequired: true });
  const { engine, source } = await boot(world, { 'a.example/dev': plugin });
  source.set(podWith('app', 'a.example/dev'));
  await world.until(() => engine.isReady('app-edge1'));
  await engine.kill();
  const again = new ManualSource();
  again.set(podWith('app', 'a.example/dev'));
  await world.boot({ sources: [again], plugins: new DirectPlugins(world.clock) });
  world.runtime.exitContainer({ pod: 'app-edge1', container: 'main' }, 1);
  await world.until(() => world.runtime.running().includes('app-edge1/main#1'));
  expect(givenDevices(world)).toEqual([['d0'], ['d0']]);
});

test('a plugin prepares a device once, though a device of another plugin is allocated only then', async () => {
  const world = await World.make();
  const [early, late] = [goodPlugin(healthy('d0')), goodPlugin(healthy('e0'))];
  for (const { answers } of [early, late]) answers['getDevicePluginOptions'] = () => ({ preStartRequired: true });
  const { engine, source, direct } = await boot(world, { 'a.example/early': early });
  source.set(podWith('app', 'a.example/early', 'a.example/late'));
  await world.until(() => engine.isReady('app-edge1'));
  await direct.register('a.example/late', late);
  await world.pass(200);
  world.runtime.exitContainer({ pod: 'app-edge1', container: 'main' }, 1);
  await world.until(() => world.runtime.running().includes('app-edge1/main#1'));
  expect([early, late].map(({ calls }) => calls)).toEqual([
    ['getDevicePluginOptions', 'allocate', 'preStartContainer', 'preStartContainer'],
    ['getDevicePluginOptions', 'allocate', 'preStartContainer'],
  ]);
});

test('a device without a NUMA node, which a machine gives as -1, is given and kept under -1', async () => {
  const world = await World.make();
  const plugin = goodPlugin([{ ID: 'd0', health: 'Healthy', topology: { nodes: [{ ID: -1n }] } }]);
  const { engine, source } = await boot(world, { 'a.example/dev': plugin });
  source.set(podWith('app', 'a.example/dev'));
  await world.until(() => engine.isReady('app-edge1'));
  await engine.kill();
  const file = join(world.rootDir, 'device-plugins', 'kubelet_internal_checkpoint');
  const { entries } = parseDeviceCheckpoint(await readFile(file, 'utf8'));
  expect(entries.map(({ resource, idsByNode }) => ({ resource, idsByNode }))).toEqual([
    { resource: 'a.example/dev', idsByNode: new Map([[-1, ['d0']]]) },
  ]);
});

test('a pod that asks for no device of a resource is refused while no device of it is healthy', async () => {
  const world = await World.make();
  const plugin = goodPlugin([{ ID: 'd0', health: 'Unhealthy' }]);
  const { engine, source } = await boot(world, { 'a.example/dev': plugin });
  source.set(podWithLimits('none', { 'a.example/dev': '0' }));
  await world.until(() => engine.phase('none-edge1') === 'Failed');
  const refused = statusOf(engine, 'none-edge1');
  plugin.send(healthy('d0'));
  await world.until(() => engine.isReady('none-edge1'));
  expect({ refused, calls: plugin.calls, given: givenDevices(world) }).toEqual({
    refused: {
      phase: 'Failed',
      reason: 'UnexpectedAdmissionError',
      message:
        'Pod was rejected: Allocate failed due to no healthy devices present; cannot allocate unhealthy devices ' +
        'a.example/dev, which is unexpected. The agent tries again as soon as a pod stops or its devices change.',
    },
    calls: ['getDevicePluginOptions'],
    given: [[]],
  });
});

test.each([
  ['1.6.20~ds1', 'containerd 1.6 does not support CDI devices: a.example/gpu=g0'],
  ['v1.7.24', undefined],
])('containerd %s gets CDI devices only if it supports them', async (runtimeVersion, refusal) => {
  const world = await World.make();
  Object.assign(world.runtime.release, { runtimeName: 'containerd', runtimeVersion });
  const plugin = goodPlugin(healthy('g0'));
  plugin.answers['allocate'] = () => ({
    containerResponses: [
      { envs: {}, mounts: [], devices: [], annotations: {}, cdiDevices: [{ name: 'a.example/gpu=g0' }] },
    ],
  });
  const { engine, source } = await boot(world, { 'a.example/gpu': plugin });
  source.set(podWith('app', 'a.example/gpu'));
  await world.pass(5000);
  const { waiting } = engine.pod('app-edge1')?.pod.status?.containerStatuses?.[0]?.state ?? {};
  const given = world.runtime.requestsOf('createContainer').map(({ config }) => config?.CDIDevices);
  expect({ message: waiting?.message, given }).toEqual({
    message: refusal,
    given: refusal === undefined ? [[{ name: 'a.example/gpu=g0' }]] : [],
  });
});
