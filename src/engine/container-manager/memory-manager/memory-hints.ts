import {
  type BitMask,
  bitMask,
  countOf,
  includesMask,
  isNarrower,
  masksOf,
  nodesOf,
} from '../topology-manager/bit-mask.ts';
import type { ResourceHints, TopologyHint } from '../topology-manager/topology-hint.ts';
import type { MemoryRequests } from './memory-requests.ts';
import { areGroupsEqual, type MachineMemory, type MemoryBlock, sumOf } from './memory-state.ts';

/** Nodes that can hold all requested types of memory. */
export type MemoryHint = TopologyHint & { readonly affinity: BitMask };

/** Returns the bytes of a type on these nodes that later containers can reuse from the pod's init containers. */
export type Reusable = (nodes: BitMask, type: string) => bigint;

/**
 * Returns the sets of nodes that can hold the requests, or [] if none can. A node is used either alone or in one group.
 * kubelet: memorymanager/policy_static.go calculateHints
 */
export function memoryHints(machine: MachineMemory, requests: MemoryRequests, reusable: Reusable): MemoryHint[] {
  const all = [...machine.keys()].sort((a, b) => a - b);
  let smallest = all.length;
  const fitting: BitMask[] = [];
  for (const mask of masksOf(all)) {
    const nodes = nodesOf(mask);
    const holds = (kind: 'allocatable' | 'free', extra: Reusable = () => 0n): boolean =>
      [...requests].every(([type, bytes]) => sumOf(machine, nodes, type, kind) + extra(mask, type) >= bytes);
    if (!holds('allocatable')) continue;
    smallest = Math.min(smallest, nodes.length);
    if (isUsedOtherwise(machine, nodes) || isInGroup(machine, nodes)) continue;
    if (holds('free', reusable)) fitting.push(mask);
  }
  return fitting.map((affinity) => ({ affinity, preferred: countOf(affinity) === smallest }));
}

/** The same hints for each type of memory. */
export function hintsByType(hints: readonly MemoryHint[], requests: MemoryRequests): ResourceHints {
  return hints.length === 0 ? new Map() : new Map([...requests.keys()].map((type) => [type, hints]));
}

/**
 * Returns hints that repeat an existing allocation, for example after the agent restarted. Returns undefined if the
 * requests have changed. kubelet: memorymanager/policy_static.go regenerateHints
 */
export function allocatedHints(blocks: readonly MemoryBlock[], requests: MemoryRequests): ResourceHints | undefined {
  if (blocks.length !== requests.size) return undefined;
  if (blocks.some(({ type, size }) => requests.get(type) !== size)) return undefined;
  return new Map(
    [...requests.keys()].map((type) => [
      type,
      blocks
        .filter((block) => block.type === type)
        .map(({ numaAffinity }) => ({ affinity: bitMask(numaAffinity), preferred: true })),
    ]),
  );
}

/** The first of the best hints. kubelet: memorymanager/policy_static.go findBestHint */
export function bestMemoryHint(hints: readonly MemoryHint[]): MemoryHint | undefined {
  return hints.reduce<MemoryHint | undefined>((best, hint) => {
    if (best === undefined) return hint;
    if (hint.preferred !== best.preferred) return hint.preferred ? hint : best;
    return isNarrower(hint.affinity, best.affinity) ? hint : best;
  }, undefined);
}

/** The best hint that includes an affinity. kubelet: memorymanager/policy_static.go extendTopologyManagerHint */
export function extendedHint(hints: readonly MemoryHint[], affinity: BitMask): MemoryHint | undefined {
  return bestMemoryHint(hints.filter((hint) => includesMask(hint.affinity, affinity)));
}

/**
 * True if the nodes have enough free memory. Does not count reusable memory. kubelet: memorymanager/policy_static.go
 * isAffinitySatisfyRequest
 */
export function isEnough(machine: MachineMemory, affinity: BitMask, requests: MemoryRequests): boolean {
  const nodes = nodesOf(affinity);
  return [...requests].every(([type, bytes]) => sumOf(machine, nodes, type, 'free') >= bytes);
}

/**
 * True if one of several nodes is already used alone or in another group. kubelet: memorymanager/policy_static.go
 * isAffinityViolatingNUMAAllocations
 */
export function isUsedOtherwise(machine: MachineMemory, nodes: readonly number[]): boolean {
  if (nodes.length === 1) return false;
  return nodes.some((node) => {
    const { numberOfAssignments = 0, cells = [] } = machine.get(node) ?? {};
    return numberOfAssignments > 0 && !areGroupsEqual(cells, nodes);
  });
}

/** True if `nodes` is a single node that is used in a group. */
function isInGroup(machine: MachineMemory, [node, ...others]: readonly number[]): boolean {
  if (node === undefined || others.length > 0) return false;
  return (machine.get(node)?.cells.length ?? 1) > 1;
}
