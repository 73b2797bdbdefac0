import { readFile, writeFile } from 'node:fs/promises';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Pod } from '../../src/api/types.ts';
import { defaultFeatureGates } from '../../src/api/values/feature-gates.ts';
import { toQuantity } from '../../src/api/values/quantity.ts';
import { DiskStateFile } from '../../src/engine/container-manager/checkpoint/disk-state-file.ts';
import { CPUSet } from '../../src/engine/container-manager/cpu-topology/cpu-set.ts';
import { PodResources } from '../../src/engine/container-manager/resource-managers/pod-resources.ts';
import type { ResourceManagerSettings } from '../../src/engine/container-manager/resource-managers/resource-managers.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { type DirectPlugin, DirectPlugins, goodPlugin, healthy, never } from '../fakes/direct-plugins.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { type Engine, World } from './world.ts';

const gibibyte = 1024n ** 3n;

/** Two NUMA nodes of four CPUs and 4 GiB. */
const machine = {
  nodes: [0, 1].map((id) => ({
    id,
    cores: [0, 1, 2, 3].map((core) => ({ socket: id, threads: [4 * id + core] })),
    distances: id === 0 ? [10, 20] : [20, 10],
  })),
};
const memory = [0, 1].map((id) => ({ id, bytes: 4n * gibibyte, hugePages: [] }));

/** 1 GiB of node 0 is reserved. */
function settingsWith(topologyPolicy: string, scope: string, reservedCPUs: string): ResourceManagerSettings {
  const reserved = CPUSet.parse(reservedCPUs);
  return {
    topology: { policy: topologyPolicy, scope, options: {} },
    cpu: { policy: 'static', options: {}, reserved: toQuantity(String(reserved.size)), reservedCPUs: reserved },
    memory: {
      policy: 'Static',
      nodeReservation: { memory: '1Gi' },
      reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }],
    },
  };
}

interface NodeSettings {
  topologyPolicy?: string;
  scope?: string;
  reservedCPUs?: string;
  plugins?: DirectPlugins;
}

async function bootWith(
  world: World,
  source: ManualSource,
  { topologyPolicy = 'none', scope = 'container', reservedCPUs = '0', plugins }: NodeSettings = {},
): Promise<Engine> {
  const { clock, rootDir } = world;
  mkdirSync(rootDir, { recursive: true });
  const open = (name: string): Promise<DiskStateFile> =>
    DiskStateFile.open({ path: join(rootDir, name), clock, logger: silentLogger });
  const files = { cpu: await open('cpu_manager_state'), memory: await open('memory_manager_state') };
  return world.boot({
    sources: [source],
    plugins,
    node: makeNodeConfig(world.folder, { allocatable: { cpu: '7', memory: '7Gi', pods: '110' } }),
    podResources: (engine) =>
      new PodResources(
        {
          settings: settingsWith(topologyPolicy, scope, reservedCPUs),
          machine,
          memory,
          featureGates: defaultFeatureGates,
          files,
          reconcilePeriodMs: 10_000,
          clock,
          logger: silentLogger,
        },
        engine,
      ),
  });
}

type Amounts = Record<string, string>;

function containerWith(name: string, resources?: Amounts) {
  const image = 'registry.example/app:1';
  return { name, image, ...(resources && { resources: { requests: resources, limits: resources } }) };
}

function podWith(name: string, resources?: Amounts): Pod {
  return makeStaticPod(name, { spec: { containers: [containerWith('main', resources)] } });
}

function sourceOf(...pods: Pod[]): ManualSource {
  const source = new ManualSource();
  source.set(...pods);
  return source;
}

const pinned = { cpu: '2', memory: '1Gi' };

/** CPUs and memory nodes of the containers that were created, and of those that were moved. */
function setsOf(world: World): string[] {
  const created = world.runtime.requestsOf('createContainer').map(({ config }) => {
    const { cpusetCpus = '', cpusetMems = '' } = config?.linux?.resources ?? {};
    return `${config?.labels['io.kubernetes.pod.name'] ?? ''} ${cpusetCpus} ${cpusetMems}`;
  });
  const moved = world.runtime.requestsOf('updateContainerResources').map(({ linux }) => linux?.cpusetCpus ?? '');
  return [...created, ...moved.map((cpus) => `moved to ${cpus}`)];
}

test('a Guaranteed pod has CPUs and a memory node for itself, and the others are moved away', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await bootWith(world, source);
  source.set(podWith('shared'));
  await world.until(() => engine.isReady('shared-edge1'));
  source.set(podWith('shared'), podWith('pinned', pinned));
  await world.until(() => engine.isReady('pinned-edge1'));
  await world.pass(1000);
  expect(setsOf(world)).toEqual(['shared-edge1 0-7 ', 'pinned-edge1 1-2 0', 'moved to 0,3-7']);
});

test('the CPUs of a removed pod are shared again', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await bootWith(world, source);
  source.set(podWith('shared'), podWith('pinned', pinned));
  await world.until(() => engine.isReady('pinned-edge1') && engine.isReady('shared-edge1'));
  source.set(podWith('shared'));
  await world.until(() => engine.pod('pinned-edge1') === undefined);
  await world.pass(1000);
  expect(setsOf(world).at(-1)).toBe('moved to 0-7');
});

test('a pod that does not fit on one NUMA node is refused, and starts when there is room', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await bootWith(world, source, { topologyPolicy: 'single-numa-node' });
  const large = { cpu: '3', memory: '1Gi' };
  source.set(podWith('first', large), podWith('second', large), podWith('third', large));
  await world.until(() => engine.isReady('first-edge1') && engine.isReady('second-edge1'));
  expect(engine.messages('TopologyAffinityError')).toEqual(['Resources cannot be allocated with Topology locality']);
  const { phase, reason, message } = engine.pod('third-edge1')?.pod.status ?? {};
  expect({ phase, reason, message }).toEqual({
    phase: 'Failed',
    reason: 'TopologyAffinityError',
    message:
      'Pod was rejected: Resources cannot be allocated with Topology locality. ' +
      'The agent tries again as soon as a pod stops.',
  });
  source.set(podWith('first', large), podWith('third', large));
  await world.until(() => engine.isReady('third-edge1') && engine.isReady('first-edge1'));
  expect(setsOf(world).sort()).toEqual(['first-edge1 1-3 0', 'second-edge1 4-6 1', 'third-edge1 4-6 1']);
});

test('a restarted agent keeps the CPUs of its pods', async () => {
  const world = await World.make();
  const first = await bootWith(world, sourceOf(podWith('pinned', pinned)));
  await world.until(() => first.isReady('pinned-edge1'));
  await first.kill();
  const source = sourceOf(podWith('pinned', pinned));
  const second = await bootWith(world, source);
  await world.until(() => second.isReady('pinned-edge1'));
  source.set(podWith('pinned', pinned), podWith('other', pinned));
  await world.until(() => second.isReady('other-edge1'));
  expect(setsOf(world).slice(0, 2)).toEqual(['pinned-edge1 1-2 0', 'other-edge1 3-4 0']);
});

test('a pod that runs continues with shared CPUs if its CPUs are reserved now', async () => {
  const world = await World.make();
  const first = await bootWith(world, sourceOf(podWith('pinned', pinned)));
  await world.until(() => first.isReady('pinned-edge1'));
  await first.kill();
  const second = await bootWith(world, sourceOf(podWith('pinned', pinned)), { reservedCPUs: '0-6' });
  await world.until(() => second.isReady('pinned-edge1'));
  await world.pass(1000);
  expect(second.messages('UnexpectedAdmissionError')).toEqual([
    'Allocate failed due to not enough cpus available to satisfy request: requested=2, available=1, ' +
      'which is unexpected. It keeps running, with shared CPUs',
  ]);
  expect({ running: world.runtime.running(), sets: setsOf(world) }).toEqual({
    running: ['pinned-edge1/main#0'],
    sets: ['pinned-edge1 1-2 0', 'moved to 0-7'],
  });
});

test('an unusable state file is set aside, and the node starts', async () => {
  const world = await World.make();
  mkdirSync(world.rootDir, { recursive: true });
  await writeFile(join(world.rootDir, 'cpu_manager_state'), 'nonsense');
  const engine = await bootWith(world, sourceOf(podWith('pinned', pinned)));
  await world.until(() => engine.isReady('pinned-edge1'));
  await engine.kill();
  const aside = await readFile(join(world.rootDir, 'cpu_manager_state.unusable'), 'utf8');
  const now: unknown = JSON.parse(await readFile(join(world.rootDir, 'cpu_manager_state'), 'utf8'));
  expect({ aside, now }).toMatchObject({ aside: 'nonsense', now: { policyName: 'static', defaultCpuSet: '0,3-7' } });
});

interface DeviceSettings {
  scope?: string;
  plugin?: DirectPlugin;
  plugins?: DirectPlugins;
}

/** A device on each of these NUMA nodes. */
async function bootWithDevices(
  world: World,
  source: ManualSource,
  nodes: readonly number[],
  { plugin = goodPlugin([]), plugins = new DirectPlugins(world.clock), ...settings }: DeviceSettings = {},
): Promise<Engine> {
  source.set();
  const engine = await bootWith(world, source, { topologyPolicy: 'single-numa-node', plugins, ...settings });
  await world.until(() => plugins.isServed);
  const devices = nodes.map((node, index) => ({
    ID: `d${index}`,
    health: 'Healthy',
    topology: { nodes: [{ ID: BigInt(node) }] },
  }));
  plugin.send(devices);
  await plugins.register('a.example/dev', plugin);
  await world.pass(200);
  return engine;
}

const devicesOf = (world: World): string[] =>
  world.runtime
    .requestsOf('createContainer')
    .flatMap(({ config }) => (config?.envs ?? []).filter(({ key }) => key === 'DEVICES'))
    .map(({ value }) => Buffer.from(value).toString());

test('the CPUs and memory of a container are on the NUMA node of its device', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await bootWithDevices(world, source, [1, 0]);
  source.set(podWith('far', { ...pinned, 'a.example/dev': '1' }));
  await world.until(() => engine.isReady('far-edge1'));
  source.set(podWith('far', { ...pinned, 'a.example/dev': '1' }), podWith('near', { ...pinned, 'a.example/dev': '1' }));
  await world.until(() => engine.isReady('near-edge1'));
  const affinities = setsOf(world).map((sets, index) => `${sets}: ${devicesOf(world)[index] ?? ''}`);
  expect(affinities.sort()).toEqual(['far-edge1 1-2 0: d1', 'near-edge1 4-5 1: d0']);
});

test('a device that is on another NUMA node than free CPUs is not given', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await bootWithDevices(world, source, [1]);
  const large = podWith('large', { cpu: '4', memory: '1Gi' });
  const withDevice = podWith('device', { ...pinned, 'a.example/dev': '1' });
  source.set(large);
  await world.until(() => engine.isReady('large-edge1'));
  source.set(large, withDevice);
  await world.until(() => engine.phase('device-edge1') === 'Failed');
  const { reason, message } = engine.pod('device-edge1')?.pod.status ?? {};
  const whileRefused = devicesOf(world);
  source.set(withDevice);
  await world.until(() => engine.isReady('device-edge1'));
  expect({ reason, message, whileRefused, sets: setsOf(world).at(-1), devices: devicesOf(world) }).toEqual({
    reason: 'TopologyAffinityError',
    message:
      'Pod was rejected: Resources cannot be allocated with Topology locality. ' +
      'The agent tries again as soon as a pod stops or its devices change.',
    whileRefused: [],
    sets: 'device-edge1 4-5 1',
    devices: ['d0'],
  });
});

/** Every container with its CPUs, memory nodes and devices. */
function placesOf(world: World): string[] {
  const places = world.runtime.requestsOf('createContainer').map(({ config }) => {
    const { cpusetCpus = '', cpusetMems = '' } = config?.linux?.resources ?? {};
    const [device] = (config?.envs ?? []).filter(({ key }) => key === 'DEVICES');
    const { 'io.kubernetes.pod.name': pod = '', 'io.kubernetes.container.name': container = '' } = config?.labels ?? {};
    return `${pod}/${container} ${cpusetCpus} ${cpusetMems} ${Buffer.from(device?.value ?? '').toString()}`.trim();
  });
  return places.sort();
}

const pinnedWithDevice = { ...pinned, 'a.example/dev': '1' };
const full = podWith('full', { cpu: '4', memory: '1Gi' });
const large = podWith('large', { cpu: '3', memory: '1Gi' });
const withDevice = podWith('device', pinnedWithDevice);

/** A plugin whose answers to Allocate wait for `answer`. */
function heldPlugin(): { plugin: DirectPlugin; answer: () => void; refuse: () => void } {
  const plugin = goodPlugin([]);
  const { allocate = never } = plugin.answers;
  let settle: { answer: () => void; refuse: () => void } = { answer: () => undefined, refuse: () => undefined };
  const settled = new Promise<void>((resolve, reject) => {
    settle = {
      answer: resolve,
      refuse: () => {
        reject(new Error('broken'));
      },
    };
  });
  plugin.answers['allocate'] = (request) => settled.then(() => allocate(request));
  return { plugin, ...settle };
}

test('pods of one list have their devices on the NUMA nodes of their CPUs', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await bootWithDevices(world, source, [0, 1]);
  source.set(podWith('one', pinnedWithDevice), podWith('two', pinnedWithDevice));
  await world.until(() => engine.isReady('one-edge1') && engine.isReady('two-edge1'));
  expect(placesOf(world)).toEqual(['one-edge1/main 1-2 0 d0', 'two-edge1/main 4-5 1 d1']);
});

test('a pod that starts while a plugin is asked leaves the CPUs next to the device alone', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const { plugin, answer } = heldPlugin();
  const engine = await bootWithDevices(world, source, [0], { plugin });
  source.set(withDevice);
  await world.until(() => plugin.calls.includes('allocate'));
  source.set(withDevice, podWith('plain', pinned));
  await world.until(() => engine.isReady('plain-edge1'));
  answer();
  await world.until(() => engine.isReady('device-edge1'));
  expect(placesOf(world)).toEqual(['device-edge1/main 1-2 0 d0', 'plain-edge1/main 4-5 1']);
});

test('all containers of a pod have their CPUs on its NUMA node, though another pod starts between them', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const { plugin, answer } = heldPlugin();
  const engine = await bootWithDevices(world, source, [0, 0], { plugin, scope: 'pod' });
  const containers = [
    containerWith('a', { cpu: '1', memory: '1Gi', 'a.example/dev': '1' }),
    containerWith('b', pinnedWithDevice),
  ];
  const withDevices = makeStaticPod('devices', { spec: { containers } });
  source.set(withDevices);
  await world.until(() => plugin.calls.includes('allocate'));
  source.set(withDevices, podWith('plain', { cpu: '2', memory: '1Gi' }));
  await world.until(() => engine.isReady('plain-edge1'));
  answer();
  await world.until(() => engine.isReady('devices-edge1'));
  expect(placesOf(world)).toEqual(['devices-edge1/a 1 0 d0', 'devices-edge1/b 2-3 0 d1', 'plain-edge1/main 4-5 1']);
});

/** The plugin is asked for a device of one pod, and `large` is refused for the CPUs of that pod. */
async function bootWithRefused(world: World, source: ManualSource, plugin: DirectPlugin): Promise<Engine> {
  const engine = await bootWithDevices(world, source, [0], { plugin });
  source.set(full, withDevice);
  await world.until(() => engine.isReady('full-edge1') && plugin.calls.includes('allocate'));
  source.set(full, withDevice, large);
  await world.until(() => engine.phase('large-edge1') === 'Failed');
  return engine;
}

test('a pod that was refused for the CPUs of a pod that its plugin refuses is tried again at once', async () => {
  const world = await World.make();
  const { plugin, refuse } = heldPlugin();
  const engine = await bootWithRefused(world, new ManualSource(), plugin);
  refuse();
  await world.until(() => engine.isReady('large-edge1'));
  await world.pass(60_000);
  expect({
    places: placesOf(world),
    refused: engine.pod('device-edge1')?.pod.status?.message,
    calls: plugin.calls.filter((call) => call === 'allocate').length,
  }).toEqual({
    places: ['full-edge1/main 4-7 1', 'large-edge1/main 1-3 0'],
    refused:
      'Pod was rejected: Allocate failed due to broken, which is unexpected. ' +
      'The agent tries again as soon as a pod stops or its devices change.',
    calls: 1,
  });
});

test('a pod that was refused for the CPUs of a removed pod is tried again once its plugin has answered', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const { plugin, answer } = heldPlugin();
  const engine = await bootWithRefused(world, source, plugin);
  source.set(full, large);
  await world.until(() => engine.pod('device-edge1') === undefined);
  await world.pass(5000);
  const whileAsked = engine.phase('large-edge1');
  answer();
  await world.until(() => engine.isReady('large-edge1'));
  expect({ whileAsked, places: placesOf(world) }).toEqual({
    whileAsked: 'Failed',
    places: ['full-edge1/main 4-7 1', 'large-edge1/main 1-3 0'],
  });
});

test('a pod that is removed while another one is asked for is not asked for', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const { plugin, answer } = heldPlugin();
  const plugins = new DirectPlugins(world.clock);
  const engine = await bootWithDevices(world, source, [0], { plugin, plugins });
  const hung = goodPlugin(healthy('h0'));
  hung.answers['allocate'] = never;
  await plugins.register('a.example/other', hung);
  await world.pass(200);
  const first = podWith('first', pinnedWithDevice);
  const removed = podWith('removed', { ...pinned, 'a.example/other': '1' });
  source.set(first);
  await world.until(() => plugin.calls.includes('allocate'));
  source.set(first, removed);
  await world.until(() => engine.phase('removed-edge1') === 'Pending');
  source.set(first);
  await world.until(() => engine.pod('removed-edge1') === undefined);
  answer();
  await world.until(() => engine.isReady('first-edge1'));
  expect(hung.calls).toEqual(['getDevicePluginOptions']);
});
