import { expect, test } from 'vitest';
import { defaultFeatureGates } from '../../../../src/api/values/feature-gates.ts';
import { toQuantity } from '../../../../src/api/values/quantity.ts';
import { CPUSet } from '../../../../src/engine/container-manager/cpu-topology/cpu-set.ts';
import {
  ResourceManagerError,
  ResourceManagers,
} from '../../../../src/engine/container-manager/resource-managers/resource-managers.ts';

const node = { id: 0, cores: [{ socket: 0, threads: [0] }] };

test.each([
  ['no NUMA node and policy none', 'none', { nodes: [] }],
  ['no NUMA node and policy static', 'static', { nodes: [] }],
  ['no NUMA node and an unknown policy', 'other', { nodes: [] }],
  ['a NUMA node and zero CPUs', 'static', { nodes: [node], cpus: 0 }],
])('a machine with %s is refused by the CPU manager', (_, policy, machine) => {
  const make = (): ResourceManagers =>
    new ResourceManagers({
      settings: {
        topology: { policy: 'none', scope: 'container', options: {} },
        cpu: { policy, options: {}, reserved: toQuantity('1'), reservedCPUs: CPUSet.empty },
        memory: { policy: 'None', nodeReservation: {}, reservedMemory: [] },
      },
      machine,
      memory: [],
      featureGates: defaultFeatureGates,
      activePods: () => [],
      sourcesReady: () => true,
      podStatus: () => undefined,
      updateContainer: () => Promise.resolve(),
    });
  expect(make).toThrow(new ResourceManagerError('cpu', new Error('could not detect number of cpus')));
});
