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
import { DirectPlugins, goodPlugin } from '../fakes/direct-plugins.ts';
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
function settingsWith(topologyPolicy: string, reservedCPUs: string): ResourceManagerSettings {
  const reserved = CPUSet.parse(reservedCPUs);
  return {
    topology: { policy: topologyPolicy, scope: 'container', options: {} },
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
  reservedCPUs?: string;
  plugins?: DirectPlugins;
}

async function bootWith(
  world: World,
  source: ManualSource,
  { topologyPolicy = 'none', reservedCPUs = '0', plugins }: NodeSettings = {},
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
          settings: settingsWith(topologyPolicy, reservedCPUs),
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

function podWith(name: string, resources?: { cpu: string; memory: string; 'a.example/dev'?: string }): Pod {
  const container = {
    name: 'main',
    image: 'registry.example/app:1',
    ...(resources && { resources: { requests: resources, limits: resources } }),
  };
  return makeStaticPod(name, { spec: { containers: [container] } });
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
      'It is tried again as soon as a pod ends.',
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

test('a pod that runs goes on with shared CPUs if its CPUs are reserved now', async () => {
  const world = await World.make();
  const first = await bootWith(world, sourceOf(podWith('pinned', pinned)));
  await world.until(() => first.isReady('pinned-edge1'));
  await first.kill();
  const second = await bootWith(world, sourceOf(podWith('pinned', pinned)), { reservedCPUs: '0-6' });
  await world.until(() => second.isReady('pinned-edge1'));
  await world.pass(1000);
  expect(second.messages('UnexpectedAdmissionError')).toEqual([
    'Allocate failed due to not enough cpus available to satisfy request: requested=2, available=1, ' +
      'which is unexpected. It runs on, with shared CPUs',
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

/** A device on each of these NUMA nodes. */
async function bootWithDevices(world: World, source: ManualSource, nodes: readonly number[]): Promise<Engine> {
  const plugins = new DirectPlugins(world.clock);
  source.set();
  const engine = await bootWith(world, source, { topologyPolicy: 'single-numa-node', plugins });
  await world.until(() => plugins.isServed);
  const devices = nodes.map((node, index) => ({
    ID: `d${index}`,
    health: 'Healthy',
    topology: { nodes: [{ ID: BigInt(node) }] },
  }));
  await plugins.register('a.example/dev', goodPlugin(devices));
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
      'It is tried again as soon as a pod ends or its devices change.',
    whileRefused: [],
    sets: 'device-edge1 4-5 1',
    devices: ['d0'],
  });
});
