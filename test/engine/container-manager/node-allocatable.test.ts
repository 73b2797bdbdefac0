import { expect, it } from 'vitest';
import { nodeAllocatable, overReservedResources } from '../../../src/engine/container-manager/node-allocatable.ts';

const node = {
  capacity: { cpu: '4', memory: '8Gi', 'ephemeral-storage': '100Gi', 'hugepages-2Mi': '1Gi', pods: '110' },
  systemReserved: { cpu: '500m', memory: '1Gi' },
  kubeReserved: { memory: '512Mi' },
  evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%', 'imagefs.available': '15%' },
};

it('shows what is left for pods after reservations, eviction and huge pages', () => {
  expect(nodeAllocatable(node)).toEqual({
    cpu: '3500m',
    memory: '5532Mi',
    'ephemeral-storage': '96636764000',
    'hugepages-2Mi': '1Gi',
    pods: '110',
  });
});

it('names the resources of which more is reserved than there is', () => {
  expect(overReservedResources({ ...node, systemReserved: { cpu: '5', memory: '8Gi' } })).toEqual(['cpu', 'memory']);
  expect(overReservedResources(node)).toEqual([]);
});
