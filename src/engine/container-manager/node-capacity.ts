import { formatQuantity } from '../../api/values/quantity.ts';
import type { ResourceList } from '../../api/types.ts';
import type { Machine } from './machine.ts';

export interface NodeCapacityOptions {
  maxPods: number;
  /** 0 means no limit per core. */
  podsPerCore: number;
  localStorageCapacityIsolation: boolean;
}

/** Capacity as in the node's status. kubelet: nodestatus/setters.go MachineInfo */
export function nodeCapacity(machine: Machine, options: NodeCapacityOptions): ResourceList {
  const { maxPods, podsPerCore, localStorageCapacityIsolation } = options;
  const { cpus, memoryBytes, ephemeralStorageBytes, hugePages } = machine;
  return {
    cpu: String(cpus),
    memory: formatBytes(memoryBytes),
    ...(localStorageCapacityIsolation && { 'ephemeral-storage': formatBytes(ephemeralStorageBytes) }),
    ...Object.fromEntries(
      hugePages.map(({ sizeBytes, pages }) => [`hugepages-${formatBytes(sizeBytes)}`, formatBytes(sizeBytes * pages)]),
    ),
    pods: String(podsPerCore > 0 ? Math.min(cpus * podsPerCore, maxPods) : maxPods),
  };
}

function formatBytes(bytes: bigint): string {
  return formatQuantity({ nanos: bytes * 1_000_000_000n, format: 'BinarySI' });
}
