/** Bytes of one type of memory on a NUMA node. kubelet: memorymanager/state/state.go MemoryTable */
export interface MemoryTable {
  total: bigint;
  systemReserved: bigint;
  /** Available to containers. */
  allocatable: bigint;
  /** Allocated to containers. */
  reserved: bigint;
  free: bigint;
}

/** kubelet: memorymanager/state/state.go NUMANodeState */
export interface NodeMemory {
  /** Blocks on this node. A container with memory and huge pages counts twice. */
  numberOfAssignments: number;
  /** By type: `memory` or `hugepages-2Mi`. */
  memoryMap: Map<string, MemoryTable>;
  /** The group of nodes that this node's blocks span, or only this node. Each node is in one group. */
  cells: readonly number[];
}

/** By number of the NUMA node. */
export type MachineMemory = Map<number, NodeMemory>;

/** Memory of a container. kubelet: memorymanager/state/state.go Block */
export interface MemoryBlock {
  numaAffinity: readonly number[];
  type: string;
  size: bigint;
}

/** By UID of the pod and name of the container. */
export type MemoryAssignments = Map<string, Map<string, MemoryBlock[]>>;

export interface MemoryState {
  machine: MachineMemory;
  assignments: MemoryAssignments;
}

export function copyOfMachine(machine: MachineMemory): MachineMemory {
  return new Map(
    [...machine].map(([node, { numberOfAssignments, memoryMap, cells }]) => [
      node,
      { numberOfAssignments, memoryMap: new Map([...memoryMap].map(([type, table]) => [type, { ...table }])), cells },
    ]),
  );
}

/** Reserves a block on its nodes, in order. kubelet: memorymanager/policy_static.go updateMachineState */
export function reserve(machine: MachineMemory, { numaAffinity, type, size }: MemoryBlock): void {
  let left = size;
  for (const node of numaAffinity) {
    const state = machine.get(node);
    if (state === undefined) continue;
    state.numberOfAssignments++;
    state.cells = numaAffinity;
    left -= move(state.memoryMap.get(type), left, 'free', 'reserved');
  }
}

/** Undoes `reserve`. kubelet: memorymanager/policy_static.go RemoveContainer */
export function release(machine: MachineMemory, { numaAffinity, type, size }: MemoryBlock): void {
  let left = size;
  for (const node of numaAffinity) {
    const state = machine.get(node);
    if (state === undefined) continue;
    state.numberOfAssignments--;
    if (state.numberOfAssignments === 0) state.cells = [node];
    left -= move(state.memoryMap.get(type), left, 'reserved', 'free');
  }
}

/** Moves at most `size` bytes. Returns the number of bytes moved. */
function move(
  table: MemoryTable | undefined,
  size: bigint,
  from: 'free' | 'reserved',
  to: 'free' | 'reserved',
): bigint {
  if (table === undefined) return 0n;
  const moved = table[from] < size ? table[from] : size;
  table[from] -= moved;
  table[to] += moved;
  return moved;
}

/** True if both have the same nodes in any order. kubelet: memorymanager/policy_static.go areGroupsEqual */
export function areGroupsEqual(one: readonly number[], other: readonly number[]): boolean {
  return [...one].sort((a, b) => a - b).join() === [...other].sort((a, b) => a - b).join();
}

/** Total bytes of a type on these nodes. */
export function sumOf(
  machine: MachineMemory,
  nodes: readonly number[],
  type: string,
  kind: 'allocatable' | 'free' | 'reserved',
): bigint {
  return nodes.reduce((sum, node) => sum + (machine.get(node)?.memoryMap.get(type)?.[kind] ?? 0n), 0n);
}
