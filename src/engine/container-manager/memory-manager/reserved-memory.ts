import type { ResourceList } from '../../../api/types.ts';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  type Quantity,
  quantityAsInt64,
  toQuantity,
  zeroQuantity,
} from '../../../api/values/quantity.ts';

/** An entry of reservedMemory. kubelet: KubeletConfiguration MemoryReservation */
export interface MemoryReservation {
  readonly numaNode: number;
  readonly limits: ResourceList;
}

/** Bytes that containers cannot use, by NUMA node and type. */
export type SystemReserved = ReadonlyMap<number, ReadonlyMap<string, bigint>>;

interface Reservations {
  /** NUMA nodes of the machine. */
  nodes: readonly number[];
  /** systemReserved, kubeReserved and the hard eviction threshold together. */
  nodeReservation: ResourceList;
  reservedMemory: readonly MemoryReservation[];
}

/**
 * Parses reservedMemory. Throws an `Error` if its sum differs from the node's reservation. kubelet:
 * memorymanager/memory_manager.go getSystemReservedMemory
 */
export function systemReservedMemory({ nodes, nodeReservation, reservedMemory }: Reservations): SystemReserved {
  const totals = new Map<string, Quantity>();
  for (const { numaNode, limits } of reservedMemory) {
    if (!nodes.includes(numaNode)) throw new Error(missingNode(numaNode));
    for (const [type, text] of Object.entries(limits)) add(totals, type, text);
  }
  checkTotals(totals, nodeReservation);
  return byNode(reservedMemory);
}

function missingNode(node: number): string {
  return `the reserved memory configuration references a NUMA node ${node} that does not exist on this machine`;
}

/** kubelet: memorymanager/memory_manager.go validateReservedMemory */
function checkTotals(totals: ReadonlyMap<string, Quantity>, nodeReservation: ResourceList): void {
  const expected = new Map<string, Quantity>();
  for (const [type, text] of Object.entries(nodeReservation)) if (isMemoryType(type)) add(expected, type, text);
  for (const type of new Set([...totals.keys(), ...expected.keys()])) {
    const [total = zeroQuantity, wanted = zeroQuantity] = [totals.get(type), expected.get(type)];
    if (compareQuantities(total, wanted) === 0) continue;
    throw new Error(
      `the total amount "${formatQuantity(total)}" of type "${type}" is not equal to the value ` +
        `"${formatQuantity(wanted)}" determined by Node Allocatable feature`,
    );
  }
}

/** kubelet: memorymanager/memory_manager.go convertReserved */
function byNode(reservedMemory: readonly MemoryReservation[]): SystemReserved {
  const reserved = new Map<number, Map<string, bigint>>();
  for (const { numaNode, limits } of reservedMemory) {
    const ofNode = reserved.get(numaNode) ?? new Map<string, bigint>();
    reserved.set(numaNode, ofNode);
    for (const [type, text] of Object.entries(limits)) {
      const bytes = quantityAsInt64(text);
      if (bytes === undefined) throw new Error('could not covert a variable of type Quantity to int64');
      ofNode.set(type, bytes);
    }
  }
  return reserved;
}

function add(totals: Map<string, Quantity>, type: string, text: string): void {
  totals.set(type, addQuantities(toQuantity(text), totals.get(type) ?? zeroQuantity));
}

/** True for memory and huge pages. */
export function isMemoryType(resource: string): boolean {
  return resource === 'memory' || resource.startsWith('hugepages-');
}
