import { expect, test } from 'vitest';
import type { Container, Pod } from '../../../../src/api/types.ts';
import { defaultFeatureGates } from '../../../../src/api/values/feature-gates.ts';
import { toQuantity } from '../../../../src/api/values/quantity.ts';
import { CPUManager } from '../../../../src/engine/container-manager/cpu-manager/cpu-manager.ts';
import { CPUSet } from '../../../../src/engine/container-manager/cpu-topology/cpu-set.ts';
import { makeContainer, makePod } from '../../../builders/pods.ts';

interface Given {
  nodes?: number;
  nodesPerSocket?: number;
  reserved?: string;
  reservedCPUs?: string;
  options?: Record<string, string>;
  content?: string;
}

/** A manager of NUMA nodes with four CPUs each. Every pod is active until it is taken out of `pods`. */
function makeManager({ nodes = 2, nodesPerSocket = 1, reserved = '1', ...given }: Given = {}) {
  const pods: Pod[] = [];
  const manager = new CPUManager({
    settings: {
      policy: 'static',
      options: given.options ?? {},
      reserved: toQuantity(reserved),
      reservedCPUs: CPUSet.parse(given.reservedCPUs ?? '0'),
    },
    machine: {
      nodes: Array.from({ length: nodes }, (_, id) => ({
        id,
        cores: [0, 1, 2, 3].map((cpu) => ({ socket: Math.floor(id / nodesPerSocket), threads: [id * 4 + cpu] })),
      })),
    },
    affinities: { policyName: 'none', affinityOf: () => ({ affinity: undefined, preferred: false }) },
    featureGates: { ...defaultFeatureGates, CPUManagerPolicyAlphaOptions: true },
    activePods: () => pods,
    sourcesReady: () => true,
    podStatus: () => undefined,
    updateContainer: () => Promise.resolve(),
  });
  manager.start({ path: '/k/cpu_manager_state', content: given.content, write: () => undefined });
  return { manager, pods };
}

function containerOf(name: string, cpu: string): Container {
  const amounts = { cpu, memory: '64Mi' };
  return makeContainer({ name, resources: { requests: amounts, limits: amounts } });
}

const [init, app] = [containerOf('i', '3'), containerOf('a', '2')];
const p1 = makePod({ metadata: { uid: 'p1' }, spec: { initContainers: [init], containers: [app] } });
const other = containerOf('c', '1');
const p2 = makePod({ metadata: { uid: 'p2' }, spec: { containers: [other] } });

test('a reserved CPU that the machine lacks is named as in the kubelet', () => {
  expect(() => makeManager({ reserved: '2', reservedCPUs: '0,99' })).toThrow(
    new Error(
      'new static policy error: [cpumanager] unable to build the reserved physical CPUs from the reserved set: unknown CPU ID: 99',
    ),
  );
});

test('a pod without containers in the state file counts as an assignment', () => {
  const content = '{"policyName":"static","defaultCpuSet":"","entries":{"p1":{}},"checksum":0}';
  expect(() => makeManager({ content })).toThrow(new Error('default cpuset cannot be empty'));
});

const bothNodes = new Map([['cpu', [{ affinity: 0b11n, preferred: false }]]]);

test('CPUs to reuse outlive their init container', () => {
  const { manager, pods } = makeManager();
  pods.push(p1);
  manager.allocate(p1, init);
  manager.allocate(p1, app);
  manager.addContainer('p1', 'i', 'i1');
  manager.addContainer('p1', 'a', 'a1');
  manager.removeContainer('i1');
  expect(manager.hints(p1, init)).toEqual(bothNodes);
});

test('CPUs to reuse are counted again after a restart, from the containers that are allocated again', () => {
  const content = '{"policyName":"static","defaultCpuSet":"0,4-7","entries":{"p1":{"a":"1-2","i":"1-3"}},"checksum":0}';
  const { manager, pods } = makeManager({ content });
  pods.push(p1);
  manager.allocate(p1, init);
  manager.allocate(p1, app);
  manager.addContainer('p1', 'i', 'i1');
  manager.removeContainer('i1');
  expect(manager.hints(p1, init)).toEqual(bothNodes);
});

test('CPUs to reuse outlive their pod until another pod is given CPUs', () => {
  const { manager, pods } = makeManager();
  pods.push(p1);
  manager.allocate(p1, init);
  manager.allocate(p1, app);
  pods.pop();
  const afterEnd = manager.podHints(p1);
  pods.push(p2);
  manager.allocate(p2, other);
  expect({ afterEnd, afterOther: manager.podHints(p1) }).toEqual({
    afterEnd: new Map([
      [
        'cpu',
        [
          { affinity: 0b01n, preferred: true },
          { affinity: 0b11n, preferred: false },
        ],
      ],
    ]),
    afterOther: new Map([
      [
        'cpu',
        [
          { affinity: 0b10n, preferred: true },
          { affinity: 0b11n, preferred: false },
        ],
      ],
    ]),
  });
});

test('a sidecar keeps CPUs that it took over', () => {
  const sidecar = { ...containerOf('s', '2'), restartPolicy: 'Always' as const };
  const pod = makePod({ metadata: { uid: 'p3' }, spec: { initContainers: [init, sidecar], containers: [other] } });
  const { manager, pods } = makeManager();
  pods.push(pod);
  for (const container of [init, sidecar, other]) manager.allocate(pod, container);
  expect(manager.assigned.map(({ containerName, cpus }) => `${containerName} ${cpus.toString()}`)).toEqual([
    'i 1-3',
    's 1-2',
    'c 3',
  ]);
});

test.each([
  ['16', '4-19'],
  ['12', '4-15'],
])('eight NUMA nodes give %s CPUs as equally as they can: %s', (cpu, cpus) => {
  const options = { 'distribute-cpus-across-numa': 'true' };
  const { manager, pods } = makeManager({ nodes: 8, nodesPerSocket: 4, options });
  const container = containerOf('c', cpu);
  const pod = makePod({ metadata: { uid: 'p' }, spec: { containers: [container] } });
  pods.push(pod);
  manager.allocate(pod, container);
  expect(manager.exclusiveCPUs('p', 'c').toString()).toBe(cpus);
});
