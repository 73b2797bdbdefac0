import type { ResourceList } from '../../api/types.ts';
import { parseThresholdValue, thresholdQuantity } from '../../api/values/eviction-thresholds.ts';
import {
  addQuantities,
  type Quantity,
  quantityMilliValue,
  quantityValue,
  subtractQuantities,
  toQuantity,
  zeroQuantity,
} from '../../api/values/quantity.ts';
import { type ResourceTotals, toResourceList, toTotals } from '../../api/values/resource-totals.ts';
import { milliCPUToShares } from './cpu-conversion.ts';
import { hugePageLimits } from './huge-pages.ts';
import type { CgroupLimits } from './pod-cgroup-limits.ts';

/** Capacity of a node, and the resources reserved from pods. */
export interface NodeReservations {
  capacity: ResourceList;
  systemReserved: ResourceList;
  kubeReserved: ResourceList;
  /** evictionHard as configured: a quantity or percentage per signal, such as `memory.available`. */
  evictionHard: Readonly<Record<string, string>>;
}

/** Limits that the kernel can enforce. kubelet: types/constants.go NodeAllocatableEnforcementKey */
export const nodeAllocatableEnforcements = [
  'pods',
  'system-reserved',
  'system-reserved-compressible',
  'kube-reserved',
  'kube-reserved-compressible',
] as const;
export type NodeAllocatableEnforcement = (typeof nodeAllocatableEnforcements)[number];

/** The node's reservations, and which of them the kernel enforces. */
export interface NodeAllocatableSettings {
  /** The capacity includes `pid`. */
  reservations: NodeReservations;
  enforce: readonly NodeAllocatableEnforcement[];
  /** Existing cgroups in the driver's form. May be empty. */
  systemReservedCgroup: string;
  kubeReservedCgroup: string;
}

/** The resource that each eviction signal measures. */
const resourceOfSignal: Readonly<Record<string, string>> = {
  'memory.available': 'memory',
  'nodefs.available': 'ephemeral-storage',
};

/** Resources reserved from pods. kubelet: cm/node_container_manager_linux.go GetNodeAllocatableReservation */
export function nodeAllocatableReservation(node: NodeReservations): ResourceList {
  const reserved = reservation(node);
  return toResourceList(new Map([...reserved].filter(([, quantity]) => quantity.nanos !== 0n)));
}

/** Resources that pods may use, as in the node's status. kubelet: nodestatus/setters.go MachineInfo */
export function nodeAllocatable(node: NodeReservations): ResourceList {
  const reserved = toTotals(nodeAllocatableReservation(node));
  const allocatable = new Map<string, Quantity>();
  for (const [name, capacity] of toTotals(node.capacity)) {
    allocatable.set(name, subtractToZero(capacity, reserved.get(name) ?? zeroQuantity));
  }
  // Preallocated huge pages reduce the memory, whether they are used or not.
  const hugePages = [...toTotals(node.capacity)].filter(([name]) => name.startsWith('hugepages-'));
  for (const [, quantity] of hugePages) {
    const memory = allocatable.get('memory');
    if (memory) allocatable.set('memory', subtractToZero(memory, quantity));
  }
  return toResourceList(allocatable);
}

/**
 * The limit for all pods together. It includes the eviction threshold, because otherwise pods would reach the limit
 * before eviction starts. kubelet: cm/node_container_manager_linux.go getNodeAllocatableInternalAbsolute
 */
export function nodeAllocatableEnforced({ capacity, systemReserved, kubeReserved }: NodeReservations): ResourceList {
  const enforced = new Map<string, Quantity>();
  for (const [name, total] of toTotals(capacity)) {
    const reserved = addQuantities(toQuantity(systemReserved[name]), toQuantity(kubeReserved[name]));
    enforced.set(name, subtractToZero(total, reserved));
  }
  return toResourceList(enforced);
}

/** Resources whose reservations exceed the capacity. kubelet: validateNodeAllocatable */
export function overReservedResources(node: NodeReservations): string[] {
  const capacity = toTotals(node.capacity);
  return [...reservation(node)]
    .filter(([name, reserved]) => reserved.nanos > (capacity.get(name)?.nanos ?? 0n))
    .map(([name]) => name);
}

/** Limits of the cgroup that contains all pods. kubelet: cm/node_container_manager_linux.go getCgroupConfig */
export function podsCgroupLimits(resources: ResourceList): CgroupLimits {
  const totals = toTotals(resources);
  const cpu = totals.get('cpu');
  const memory = totals.get('memory');
  const pids = totals.get('pid');
  return {
    ...(cpu && { cpuShares: milliCPUToShares(quantityMilliValue(cpu)) }),
    ...(memory && { memoryBytes: quantityValue(memory) }),
    ...(pids && { pidsLimit: quantityValue(pids) }),
    hugePageLimits: hugePageLimits(totals),
  };
}

function reservation({ capacity, systemReserved, kubeReserved, evictionHard }: NodeReservations): ResourceTotals {
  const evicted = evictionReservation(evictionHard, toTotals(capacity));
  return new Map(
    Object.keys(capacity).map((name) => {
      const parts = [toQuantity(systemReserved[name]), toQuantity(kubeReserved[name]), evicted.get(name)];
      return [name, parts.filter((part) => part !== undefined).reduce(addQuantities, zeroQuantity)];
    }),
  );
}

/** kubelet: cm/node_container_manager_linux.go hardEvictionReservation */
function evictionReservation(evictionHard: NodeReservations['evictionHard'], capacity: ResourceTotals): ResourceTotals {
  const reserved = new Map<string, Quantity>();
  for (const [signal, threshold] of Object.entries(evictionHard)) {
    const resource = resourceOfSignal[signal];
    const total = resource === undefined ? undefined : capacity.get(resource);
    const value = parseThresholdValue(threshold);
    if (resource === undefined || !total || value === undefined || value === 'never') continue;
    reserved.set(resource, thresholdQuantity(value, total));
  }
  return reserved;
}

function subtractToZero(from: Quantity, quantity: Quantity): Quantity {
  const difference = subtractQuantities(from, quantity);
  return difference.nanos < 0n ? { ...difference, nanos: 0n } : difference;
}
