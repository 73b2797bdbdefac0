import { expect, test } from 'vitest';
import type { PodStatus } from '../../../../src/api/types.ts';
import { defaultFeatureGates } from '../../../../src/api/values/feature-gates.ts';
import { toQuantity } from '../../../../src/api/values/quantity.ts';
import { CPUContainers } from '../../../../src/engine/container-manager/cpu-manager/cpu-containers.ts';
import { CPUManager } from '../../../../src/engine/container-manager/cpu-manager/cpu-manager.ts';
import { CPUSet } from '../../../../src/engine/container-manager/cpu-topology/cpu-set.ts';
import { EngineCounter } from '../../../../src/server/metrics/engine-counter.ts';
import { makeContainer, makePod } from '../../../builders/pods.ts';

const amounts = { cpu: '2', memory: '64Mi' };
const one = { cpu: '1', memory: '64Mi' };
const exclusive = makePod({
  metadata: { uid: 'exclusive' },
  spec: { containers: [makeContainer({ resources: { requests: amounts, limits: amounts } })] },
});
const shared = makePod({ metadata: { uid: 'shared', name: 'shared' } });

/** Four CPUs, evenly on these nodes. */
const nodesOf = (count: number) =>
  Array.from({ length: count }, (_, id) => ({
    id,
    cores: [0, 1, 2, 3]
      .filter((cpu) => Math.floor((cpu * count) / 4) === id)
      .map((cpu) => ({ socket: id, threads: [cpu] })),
  }));

/** A manager of four CPUs, the first of them reserved, and what the runtime was asked. */
function makeManager(options: { status?: PodStatus; content?: string; meter?: EngineCounter; nodes?: number } = {}) {
  const updates: string[] = [];
  const written: string[] = [];
  const pods = [shared];
  const manager = new CPUManager({
    settings: { policy: 'static', options: {}, reserved: toQuantity('1'), reservedCPUs: CPUSet.empty },
    machine: { nodes: nodesOf(options.nodes ?? 1) },
    meter: options.meter,
    affinities: { policyName: 'none', affinityOf: () => ({ affinity: undefined, preferred: false }) },
    featureGates: defaultFeatureGates,
    activePods: () => pods,
    sourcesReady: () => true,
    podStatus: (uid) => (uid === 'shared' ? options.status : undefined),
    updateContainer: (id, cpus) => {
      updates.push(`${id} ${cpus}`);
      return Promise.resolve();
    },
  });
  const write = (content: string): void => {
    written.push(content);
  };
  manager.start({ path: '/root-dir/cpu_manager_state', content: options.content, write });
  return { manager, pods, updates, written };
}

function runningStatus(containerID: string): PodStatus {
  const state = { running: { startedAt: '2025-01-01T00:00:00Z' } };
  const container = { name: 'web', image: '', imageID: '', ready: true, restartCount: 0, state };
  return { containerStatuses: [{ ...container, containerID }] };
}

test('a container that was made while the shared CPUs were others is moved, though they are the old ones again', async () => {
  const status = runningStatus('containerd://new');
  const { manager, pods, updates } = makeManager({ status });
  await manager.reconcile();
  pods.push(exclusive);
  manager.allocate(exclusive, makeContainer(exclusive.spec.containers[0]));
  const cpus = manager.effectiveCPUs('shared', 'web');
  manager.addContainer('shared', 'web', 'new', cpus);
  pods.pop();
  await manager.reconcile();
  expect({ made: cpus.toString(), updates }).toEqual({ made: '0,3', updates: ['new 0-3', 'new 0-3'] });
});

test.each([
  ['{', 'Expected a key in double quotes, found the end of the text'],
  ['{"policyName":"static","defaultCpuSet":"0-3","checksum":1}', 'checkpoint is corrupted'],
  [
    '{"policyName":"none","defaultCpuSet":"","checksum":0}',
    'policy "static" differs from state checkpoint policy "none"',
  ],
  ['{"policyName":"static","defaultCpuSet":"0-x","checksum":0}', 'parsing "x": invalid syntax'],
  ['{"policyName":"static","defaultCpuSet":"0-7","checksum":0}', `"0-3" doesn't match with CPUs in state "0-7"`],
  [
    '{"policyName":"static","defaultCpuSet":"0-3","entries":{"p":{"c":"1"}},"checksum":0}',
    'container: c cpuset: "1" overlaps with default cpuset "0-3"',
  ],
  ...['18446744073709551616', '1e3', '1.0', '-1'].map((checksum) => [
    `{"policyName":"static","defaultCpuSet":"0-3","checksum":${checksum}}`,
    `.checksum has no value of type uint64 but the number ${checksum},`,
  ]),
  [
    '{"policyName":"static","defaultCpuSet":"0-3","DEFAULTCPUSET":"0-2","checksum":0}',
    `"0-3" doesn't match with CPUs in state "0-2"`,
  ],
])('the state file %s cannot be used', (content, problem) => {
  expect(() => makeManager({ content })).toThrow(problem);
});

test.each([
  '{"policyName":"static","defaultCPUSet":"0-3","checksum":0}',
  '{"POLICYNAME":"static","defaultCpuSet":"0-2","DefaultCpuSet":"0-3","Checksum":0}',
  '{"policyName":"static","defaultCpuSet":"0-3","checksum":18446744073709551615,"checksum":0}',
])('the state file %s is taken, and is not written', (content) => {
  const { manager, written } = makeManager({ content });
  expect({ shared: manager.sharedCPUs.toString(), written }).toEqual({ shared: '0-3', written: [] });
});

test('the older of two ids of a container frees its CPUs, and so does the newer one once it has some again', () => {
  const { manager, pods } = makeManager();
  const main = makeContainer(exclusive.spec.containers[0]);
  pods.push(exclusive);
  manager.allocate(exclusive, main);
  manager.addContainer('exclusive', 'web', 'x1');
  manager.addContainer('exclusive', 'web', 'x2');
  manager.removeContainer('x1');
  const afterFirst = manager.sharedCPUs.toString();
  manager.allocate(exclusive, main);
  const allocated = manager.sharedCPUs.toString();
  manager.removeContainer('x2');
  expect({ afterFirst, allocated, afterSecond: manager.sharedCPUs.toString() }).toEqual({
    afterFirst: '0-3',
    allocated: '0,3',
    afterSecond: '0-3',
  });
});

test.each([
  ['containerd://c1', 'c1'],
  ['"containerd://c1"', 'c1'],
  ['c1', undefined],
  ['containerd://c1://c2', undefined],
])('a container with the id %s is moved by the id %s', async (containerID, id) => {
  const { manager, updates } = makeManager({ status: runningStatus(containerID) });
  const { success, failure } = await manager.reconcile();
  const moved = { podName: 'shared', containerName: 'web', containerID: id ?? '' };
  expect({ success, failure, updates }).toEqual(
    id === undefined
      ? { success: [], failure: [moved], updates: [] }
      : { success: [moved], failure: [], updates: [`${id} 0-3`] },
  );
});

test('a container that always restarts is known by its newest ids only', () => {
  const containers = new CPUContainers();
  const container = { podUID: 'p', containerName: 'c' };
  for (let run = 0; run < 1000; run++) containers.add(container, `id${run}`);
  expect([0, 991, 992, 999].map((run) => containers.find(`id${run}`) !== undefined)).toEqual([
    false,
    false,
    true,
    true,
  ]);
});

test('a container gets other CPUs than its init container if another pod was given CPUs in between', () => {
  const { manager, pods } = makeManager();
  const container = (name: string) => makeContainer({ name, resources: { requests: one, limits: one } });
  const podWith = (uid: string) =>
    makePod({ metadata: { uid }, spec: { initContainers: [container('init')], containers: [container('main')] } });
  const [first, second] = [podWith('first'), podWith('second')];
  pods.push(first, second);
  manager.allocate(first, container('init'));
  manager.allocate(second, container('init'));
  manager.allocate(first, container('main'));
  const assigned = manager.assigned.map(
    ({ podUID, containerName, cpus }) => `${podUID}/${containerName} ${cpus.toString()}`,
  );
  expect(assigned).toEqual(['first/init 1', 'first/main 3', 'second/init 2']);
});

test('the exclusive CPUs of each NUMA node are a metric', () => {
  const counts = new EngineCounter();
  const { manager, pods } = makeManager({ meter: counts, nodes: 2 });
  pods.push(exclusive);
  manager.allocate(exclusive, makeContainer(exclusive.spec.containers[0]));
  const perNode = (): unknown =>
    counts.families().find(({ name }) => name === 'kubelet_cpu_manager_allocation_per_numa')?.samples;
  expect(perNode()).toEqual([
    { labels: { numa_node: '0' }, value: 0 },
    { labels: { numa_node: '1' }, value: 2 },
  ]);
  manager.allocate(exclusive, makeContainer(exclusive.spec.containers[0]));
  pods.pop();
  manager.hints(shared, makeContainer(shared.spec.containers[0]));
  expect(perNode()).toEqual([
    { labels: { numa_node: '0' }, value: 0 },
    { labels: { numa_node: '1' }, value: 0 },
  ]);
});
