import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Pod } from '../../../../src/api/types.ts';
import { MemoryManager } from '../../../../src/engine/container-manager/memory-manager/memory-manager.ts';
import { parseMemoryCheckpoint } from '../../../../src/engine/container-manager/memory-manager/memory-checkpoint.ts';
import { TopologyManager } from '../../../../src/engine/container-manager/topology-manager/topology-manager.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

const gibibyte = 1024n ** 3n;
const nodes = [0, 1, 2, 3].map((id) => ({ id, bytes: 4n * gibibyte, hugePages: [] }));
const settings = {
  policy: 'Static',
  nodeReservation: { memory: '1Gi' },
  reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }],
};

/** A Guaranteed pod whose containers have so many GiB. */
function podOf(uid: string, { init, regular }: { init: number[]; regular: number[] }): Pod {
  const container = (prefix: string) => (size: number, index: number) => ({
    name: `${prefix}${index}`,
    image: 'i',
    resources: { requests: { cpu: '1', memory: `${size}Gi` }, limits: { cpu: '1', memory: `${size}Gi` } },
  });
  return {
    metadata: { name: uid, namespace: 'default', uid },
    spec: { initContainers: init.map(container('i')), containers: regular.map(container('c')) },
  };
}

const sizes = (minLength: number): fc.Arbitrary<number[]> =>
  fc.array(fc.integer({ min: 1, max: 9 }), { minLength, maxLength: 2 });
const step = fc.oneof(fc.record({ init: sizes(0), regular: sizes(1) }), fc.record({ end: fc.nat({ max: 5 }) }));

test.each(['none', 'best-effort', 'restricted', 'single-numa-node'])(
  'no node gives more memory than it has, and all is free in the end, with policy %s',
  (policy) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const active = new Map<string, Pod>();
        let written = '';
        const topology = new TopologyManager({ settings: { policy, scope: 'container', options: {} }, nodes });
        const manager = new MemoryManager({
          settings,
          nodes,
          affinities: topology,
          activePods: () => [...active.values()],
          sourcesReady: () => true,
        });
        topology.addHintProvider(manager);
        const write = (content: string): void => {
          written = content;
        };
        manager.start({ path: 'memory_manager_state', content: undefined, write });
        const empty = written;
        for (const [index, one] of steps.entries()) {
          if ('end' in one) {
            active.delete(String(one.end));
            continue;
          }
          const pod = podOf(String(index), one);
          active.set(pod.metadata.uid, pod);
          if (!topology.admit(pod).admit) active.delete(pod.metadata.uid);
          expectBalanced(written);
        }
        active.clear();
        manager.podHints(podOf('last', { init: [], regular: [1] }));
        expect(written).toBe(empty);
      }),
      propertyRuns(150),
    );
  },
);

function expectBalanced(content: string): void {
  const { machine, assignments } = parseMemoryCheckpoint(content, 'Static');
  const blocks = [...assignments.values()].flatMap((ofPod) => [...ofPod.values()].flat());
  const tables = [...machine.values()].flatMap(({ memoryMap }) => [...memoryMap.values()]);
  const reserved = tables.reduce((sum, table) => sum + table.reserved, 0n);
  expect(tables.every(({ free, reserved: used, allocatable }) => free >= 0n && free + used === allocatable)).toBe(true);
  expect(reserved).toBe(blocks.reduce((sum, { size }) => sum + size, 0n));
}
