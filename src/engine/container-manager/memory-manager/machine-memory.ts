import { formatQuantity } from '../../../api/values/quantity.ts';
import type { SystemReserved } from './reserved-memory.ts';
import type { MachineMemory, MemoryTable, NodeMemory } from './memory-state.ts';

/** The memory of a NUMA node, as reported by the kernel or described by a test. */
export interface NUMAMemory {
  readonly id: number;
  /** Total memory including huge pages. */
  readonly bytes: bigint;
  readonly hugePages: readonly { readonly sizeBytes: bigint; readonly pages: bigint }[];
}

/**
 * State of the memory without any containers. Throws an `Error` if more is reserved than a node has. kubelet:
 * memorymanager/policy_static.go getDefaultMachineState
 */
export function emptyMachine(nodes: readonly NUMAMemory[], reserved: SystemReserved): MachineMemory {
  return new Map(nodes.map((node) => [node.id, emptyNode(node, reserved.get(node.id) ?? new Map<string, bigint>())]));
}

function emptyNode({ id, bytes, hugePages }: NUMAMemory, reserved: ReadonlyMap<string, bigint>): NodeMemory {
  const memoryMap = new Map<string, MemoryTable>();
  const add = (type: string, total: bigint, usable: bigint): void => {
    const systemReserved = reserved.get(type) ?? 0n;
    const allocatable = usable - systemReserved;
    if (allocatable < 0n) {
      throw new Error(`the reserved memory of NUMA node ${id} is ${systemReserved} bytes of ${type}, it has ${usable}`);
    }
    memoryMap.set(type, { total, systemReserved, allocatable, reserved: 0n, free: allocatable });
  };
  let inHugePages = 0n;
  for (const { sizeBytes, pages } of hugePages) {
    const total = sizeBytes * pages;
    add(hugePageResource(sizeBytes), total, total);
    inHugePages += total;
  }
  add('memory', bytes, bytes - inHugePages);
  return { numberOfAssignments: 0, memoryMap, cells: [id] };
}

/** For example `hugepages-2Mi`. kubelet: v1/helper HugePageResourceName */
function hugePageResource(sizeBytes: bigint): string {
  return `hugepages-${formatQuantity({ nanos: sizeBytes * 1_000_000_000n, format: 'BinarySI' })}`;
}
