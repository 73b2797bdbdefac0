import { expect, test } from 'vitest';
import type { Container, Pod } from '../../../../src/api/types.ts';
import { parseMemoryCheckpoint } from '../../../../src/engine/container-manager/memory-manager/memory-checkpoint.ts';
import { MemoryManager } from '../../../../src/engine/container-manager/memory-manager/memory-manager.ts';
import type { MemoryReservation } from '../../../../src/engine/container-manager/memory-manager/reserved-memory.ts';
import { TopologyManager } from '../../../../src/engine/container-manager/topology-manager/topology-manager.ts';
import type { TopologyHint } from '../../../../src/engine/container-manager/topology-manager/topology-hint.ts';
import { makeContainer, makePod } from '../../../builders/pods.ts';

const affinities = new TopologyManager({
  settings: { policy: 'none', scope: 'container', options: {} },
  nodes: [{ id: 0 }],
});

function managerWith(memory: string, reservedMemory: MemoryReservation[]): MemoryManager {
  return new MemoryManager({
    settings: { policy: 'Static', nodeReservation: { memory }, reservedMemory },
    nodes: [{ id: 0, bytes: 1024n ** 3n, hugePages: [] }],
    affinities,
    activePods: () => [],
    sourcesReady: () => true,
  });
}

test('more reserved memory than a node has is refused, where the kubelet would give it out', () => {
  expect(() => managerWith('2Gi', [{ numaNode: 0, limits: { memory: '2Gi' } }])).toThrow(
    'the reserved memory of NUMA node 0 is 2147483648 bytes of memory, it has 1073741824',
  );
});

test.each([
  ['{', 'Expected a key in double quotes, found the end of the text'],
  ['[]', 'the file has no value of type struct but list'],
  ['{"machineState":{"0":{"cells":["a"]}}}', '.machineState.cells has no value of type int but string'],
  [
    '{"machineState":{"0":{"numberOfAssignments":9223372036854775808}}}',
    '.machineState.numberOfAssignments has no value of type int but the number 9223372036854775808',
  ],
  ['{"policyName":"Static","machineState":{},"checksum":1}', 'checkpoint is corrupted'],
])('the state file %s is malformed', (content, problem) => {
  const manager = managerWith('1Mi', [{ numaNode: 0, limits: { memory: '1Mi' } }]);
  const remedy = 'please drain this node and delete the memory manager checkpoint file "/k/memory_manager_state"';
  const message = `could not restore state from checkpoint: ${problem}, ${remedy} before restarting Kubelet`;
  expect(() => {
    manager.start({ path: '/k/memory_manager_state', content, write: () => undefined });
  }).toThrow(new Error(message));
});

const gibibyte = 1024n ** 3n;

/** A manager of NUMA nodes with 4 GiB each, 1 GiB of node 0 is reserved. Containers have the affinity `hint`. */
function makeManager(given: { nodes?: number; hint?: TopologyHint; content?: string; activePods?: Pod[] } = {}) {
  const hint = given.hint ?? { affinity: undefined, preferred: false };
  let content = given.content;
  const manager = new MemoryManager({
    settings: {
      policy: 'Static',
      nodeReservation: { memory: '1Gi' },
      reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }],
    },
    nodes: Array.from({ length: given.nodes ?? 1 }, (_, id) => ({ id, bytes: 4n * gibibyte, hugePages: [] })),
    affinities: { policyName: 'none', affinityOf: () => hint },
    activePods: () => given.activePods ?? [pod],
    sourcesReady: () => true,
  });
  const write = (text: string): void => {
    content = text;
  };
  manager.start({ path: '/k/memory_manager_state', content, write });
  return { manager, written: () => content ?? '' };
}

function containerOf(name: string, memory: string): Container {
  const amounts = { cpu: '1', memory };
  return makeContainer({ name, resources: { requests: amounts, limits: amounts } });
}

const [init, app] = [containerOf('i', '2Gi'), containerOf('a', '1Gi')];
const pod = makePod({ spec: { initContainers: [init], containers: [app] } });

/** GiB of node 0 in the state file. */
function usageIn(content: string): { reserved: bigint | undefined; free: bigint | undefined } {
  const table = parseMemoryCheckpoint(content, 'Static').machine.get(0)?.memoryMap.get('memory');
  return { reserved: table && table.reserved / gibibyte, free: table && table.free / gibibyte };
}

test('memory that an init container left over is reused, though the init container was freed', () => {
  const { manager, written } = makeManager();
  const admit = (): void => {
    for (const container of [init, app]) manager.allocate(pod, container);
  };
  admit();
  manager.addContainer(pod, init, 'i1');
  manager.addContainer(pod, app, 'a1');
  const freed = usageIn(written());
  const hints = manager.hints(pod, init);
  admit();
  expect({ freed, hints, again: usageIn(written()) }).toEqual({
    freed: { reserved: 1n, free: 2n },
    hints: new Map([['memory', [{ affinity: 1n, preferred: true }]]]),
    again: { reserved: 2n, free: 1n },
  });
});

test('a pod that is admitted again finds nothing left over from its time before', () => {
  const activePods = [pod];
  const { manager, written } = makeManager({ activePods });
  manager.allocate(pod, init);
  manager.allocate(pod, app);
  activePods.pop();
  // Removes what pods have that are not active.
  manager.hints(pod, app);
  activePods.push(pod);
  manager.allocate(pod, init);
  manager.allocate(pod, app);
  expect(usageIn(written())).toEqual({ reserved: 2n, free: 1n });
});

test('after a restart the blocks of the file say how much memory is left over', () => {
  const before = makeManager();
  for (const container of [init, app]) before.manager.allocate(pod, container);
  const { manager, written } = makeManager({ content: before.written() });
  for (const container of [init, app]) manager.allocate(pod, container);
  manager.addContainer(pod, app, 'a1');
  manager.allocate(pod, init);
  expect(usageIn(written())).toEqual({ reserved: 3n, free: 0n });
});

test('memory of an init container does not make a narrow affinity enough', () => {
  const { manager } = makeManager({ nodes: 2, hint: { affinity: 0b11n, preferred: true } });
  const [first, second] = [containerOf('i', '5Gi'), containerOf('a', '3Gi')];
  const large = makePod({ spec: { initContainers: [first], containers: [second] } });
  manager.allocate(large, first);
  expect(() => {
    manager.allocate(large, second);
  }).toThrow(new Error('[memorymanager] failed to find the extended preferred hint'));
});

test('an affinity is extended by nodes of lower numbers', () => {
  const { manager } = makeManager({ nodes: 2, hint: { affinity: 0b10n, preferred: false } });
  const container = containerOf('a', '5Gi');
  manager.allocate(makePod({ spec: { containers: [container] } }), container);
  expect(manager.blocksOf(pod.metadata.uid, 'a')).toEqual([
    { numaAffinity: [0, 1], type: 'memory', size: 5n * gibibyte },
  ]);
});

test('members of the state file may have other capitals, as in Go', () => {
  const content = makeManager().written();
  const other = content.replace('"policyName"', '"POLICYNAME"').replace('"machineState"', '"machinestate"');
  const { manager, written } = makeManager({ content: other });
  expect({ allocatable: manager.allocatable(), written: written() }).toEqual({
    allocatable: [{ numaAffinity: [0], type: 'memory', size: 3n * gibibyte }],
    written: other,
  });
});
