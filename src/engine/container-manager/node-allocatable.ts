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
import { toTotals } from '../../api/values/resource-amounts.ts';
import { type ResourceTotals, toResourceList } from '../../api/values/resource-totals.ts';
import { milliCPUToShares } from './cpu-conversion.ts';
import { hugePageLimits } from './huge-pages.ts';
import type { CgroupLimits } from './pod-cgroup-limits.ts';

/** What a node has, and what pods may not have of it. */
export interface NodeReservations {
  capacity: ResourceList;
  systemReserved: ResourceList;
  kubeReserved: ResourceList;
  /** evictionHard as configured: quantity or percentage by signal, such as `memory.available`. */
  evictionHard: Readonly<Record<string, string>>;
}

/** What the kernel can be made to hold to its share of the node. kubelet: types/constants.go NodeAllocatableEnforcementKey */
export const nodeAllocatableEnforcements = [
  'pods',
  'system-reserved',
  'system-reserved-compressible',
  'kube-reserved',
  'kube-reserved-compressible',
] as const;
export type NodeAllocatableEnforcement = (typeof nodeAllocatableEnforcements)[number];

/** What the kernel enforces of the node's division. */
export interface NodeAllocatableSettings {
  /** With `pid` in the capacity. */
  reservations: NodeReservations;
  enforce: readonly NodeAllocatableEnforcement[];
  /** Cgroups that exist, in the driver's form; empty: none. */
  systemReservedCgroup: string;
  kubeReservedCgroup: string;
}

/** Signals that pods are evicted on before they use up the resource. */
const resourceOfSignal: Readonly<Record<string, string>> = {
  'memory.available': 'memory',
  'nodefs.available': 'ephemeral-storage',
};

/** What is kept from pods. kubelet: cm/node_container_manager_linux.go GetNodeAllocatableReservation */
export function nodeAllocatableReservation(node: NodeReservations): ResourceList {
  const reserved = reservation(node);
  return toResourceList(new Map([...reserved].filter(([, quantity]) => quantity.nanos !== 0n)));
}

/** What pods may use, as the node's status shows it. kubelet: nodestatus/setters.go MachineInfo */
export function nodeAllocatable(node: NodeReservations): ResourceList {
  const reserved = reservation(node);
  const allocatable = new Map<string, Quantity>();
  for (const [name, capacity] of toTotals(node.capacity)) {
    allocatable.set(name, subtractToZero(capacity, reserved.get(name) ?? zeroQuantity));
  }
  // Huge pages are taken from memory when they are set aside, used or not.
  const hugePages = [...toTotals(node.capacity)].filter(([name]) => name.startsWith('hugepages-'));
  for (const [, quantity] of hugePages) {
    const memory = allocatable.get('memory');
    if (memory) allocatable.set('memory', subtractToZero(memory, quantity));
  }
  return toResourceList(allocatable);
}

/**
 * What all pods together are held to: eviction is not taken off, or the limit would be hit before eviction starts.
 * kubelet: cm/node_container_manager_linux.go getNodeAllocatableInternalAbsolute
 */
export function nodeAllocatableEnforced({ capacity, systemReserved, kubeReserved }: NodeReservations): ResourceList {
  const enforced = new Map<string, Quantity>();
  for (const [name, total] of toTotals(capacity)) {
    const reserved = addQuantities(toQuantity(systemReserved[name]), toQuantity(kubeReserved[name]));
    enforced.set(name, subtractToZero(total, reserved));
  }
  return toResourceList(enforced);
}

/** The resources of which more is reserved than there is. kubelet: validateNodeAllocatable */
export function overReservedResources(node: NodeReservations): string[] {
  const capacity = toTotals(node.capacity);
  return [...reservation(node)]
    .filter(([name, reserved]) => reserved.nanos > (capacity.get(name)?.nanos ?? 0n))
    .map(([name]) => name);
}

/** Settings of the cgroup over all pods. kubelet: cm/node_container_manager_linux.go getCgroupConfig */
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
