import { expect, test } from 'vitest';
import { MemoryManager } from '../../../../src/engine/container-manager/memory-manager/memory-manager.ts';
import type { MemoryReservation } from '../../../../src/engine/container-manager/memory-manager/reserved-memory.ts';
import { TopologyManager } from '../../../../src/engine/container-manager/topology-manager/topology-manager.ts';
import { defaultFeatureGates } from '../../../../src/api/values/feature-gates.ts';

const affinities = new TopologyManager({
  settings: { policy: 'none', scope: 'container', options: {} },
  nodes: [{ id: 0 }],
  featureGates: defaultFeatureGates,
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
  ['{', 'unexpected end of JSON input'],
  ['[]', 'json: cannot unmarshal array into Go value of type state.MemoryManagerCheckpoint'],
  [
    '{"machineState":{"0":{"cells":["a"]}}}',
    'json: cannot unmarshal string into Go struct field NUMANodeState.machineState.cells of type int',
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
