import type { Container, Pod } from '../../../api/types.ts';
import { initAndRegularContainers } from '../../../api/values/containers.ts';
import { isSidecar } from '../../../api/values/sidecars.ts';
import type { AffinityStore } from '../topology-manager/affinity-store.ts';
import { type BitMask, nodesOf } from '../topology-manager/bit-mask.ts';
import type { ResourceHints } from '../topology-manager/topology-hint.ts';
import { emptyMachine, type NUMAMemory } from './machine-memory.ts';
import {
  allocatedHints,
  bestMemoryHint,
  extendedHint,
  hintsByType,
  isEnough,
  isUsedOtherwise,
  type MemoryHint,
  memoryHints,
  type Reusable,
} from './memory-hints.ts';
import { containerMemoryRequests, isPinned, type MemoryRequests, podMemoryRequests } from './memory-requests.ts';
import {
  areGroupsEqual,
  copyOfMachine,
  type MachineMemory,
  type MemoryBlock,
  type MemoryState,
  type MemoryTable,
  release,
  reserve,
  sumOf,
} from './memory-state.ts';
import type { SystemReserved } from './reserved-memory.ts';
import { ReusableMemory } from './reusable-memory.ts';

interface Deps {
  nodes: readonly NUMAMemory[];
  reserved: SystemReserved;
  affinities: AffinityStore;
}

/** Assigns memory on specific NUMA nodes to containers of Guaranteed pods. kubelet: memorymanager/policy_static.go */
export class StaticMemoryPolicy {
  private readonly affinities: AffinityStore;
  private readonly unused: MachineMemory;
  private readonly reusable = new ReusableMemory();

  /** Throws an `Error` if no memory is reserved or more than a node has. kubelet: policy_static.go NewPolicyStatic */
  constructor({ nodes, reserved, affinities }: Deps) {
    if ([...reserved.values()].every((ofNode) => (ofNode.get('memory') ?? 0n) === 0n)) {
      throw new Error('[memorymanager] you should specify the system reserved memory');
    }
    this.affinities = affinities;
    this.unused = emptyMachine(nodes, reserved);
  }

  /**
   * Returns the restored state, or a new one if the restored state is empty. Throws an `Error` if it does not fit the
   * machine. kubelet: policy_static.go validateState
   */
  start(restored: MemoryState): MemoryState {
    const { machine, assignments } = restored;
    if (machine.size > 0) {
      if (!isSameMachine(machine, this.expected(restored))) {
        throw new Error('[memorymanager] the expected machine state is different from the real one');
      }
      return restored;
    }
    if (assignments.size > 0) {
      throw new Error('[memorymanager] machine state can not be empty when it has memory assignments');
    }
    return { machine: copyOfMachine(this.unused), assignments };
  }

  /** kubelet: policy_static.go GetTopologyHints */
  hints(state: MemoryState, pod: Pod, container: Container): ResourceHints | undefined {
    if (!isPinned(pod)) return undefined;
    const requests = requestsOrNone(() => containerMemoryRequests(container));
    if (requests === undefined) return undefined;
    const blocks = blocksOf(state, pod, container);
    return blocks ? allocatedHints(blocks, requests) : newHints(state, requests, this.reusable.of(pod));
  }

  /**
   * After a restart, compares the requests of the whole pod with the blocks of the first container, as the kubelet
   * does. kubelet: policy_static.go GetPodTopologyHints
   */
  podHints(state: MemoryState, pod: Pod): ResourceHints | undefined {
    if (!isPinned(pod)) return undefined;
    const requests = requestsOrNone(() => podMemoryRequests(pod));
    if (requests === undefined) return undefined;
    const first = initAndRegularContainers(pod.spec)
      .map((container) => blocksOf(state, pod, container))
      .find((blocks) => blocks !== undefined);
    return first ? allocatedHints(first, requests) : newHints(state, requests, this.reusable.of(pod));
  }

  /**
   * Returns true if the state changed. Throws an `Error` if the memory cannot be allocated. kubelet: policy_static.go
   * Allocate
   */
  allocate(state: MemoryState, pod: Pod, container: Container): boolean {
    if (!isPinned(pod)) return false;
    const present = blocksOf(state, pod, container);
    if (present !== undefined) {
      this.reusable.update(pod, container, present);
      return false;
    }
    const requests = containerMemoryRequests(container);
    const reusable = this.reusable.of(pod);
    const affinity = this.affinityFor(state, pod, container, requests);
    const blocks = [...requests].map(([type, size]) => ({ numaAffinity: nodesOf(affinity), type, size }));
    for (const block of blocks) {
      const reused = reusable(affinity, block.type);
      reserve(state.machine, { ...block, size: block.size > reused ? block.size - reused : 0n });
    }
    this.reusable.update(pod, container, blocks);
    setBlocks(state, pod, container, blocks);
    for (const block of blocks) shrinkInitContainerBlocks(state, pod, container, block);
    return true;
  }

  /** Returns true if the state changed. kubelet: policy_static.go RemoveContainer */
  remove({ machine, assignments }: MemoryState, podUID: string, containerName: string): boolean {
    const ofPod = assignments.get(podUID);
    const blocks = ofPod?.get(containerName);
    if (ofPod === undefined || blocks === undefined) return false;
    ofPod.delete(containerName);
    if (ofPod.size === 0) {
      assignments.delete(podUID);
      this.reusable.dropPod(podUID);
    }
    for (const block of blocks) release(machine, block);
    return true;
  }

  private affinityFor(state: MemoryState, pod: Pod, container: Container, requests: MemoryRequests): BitMask {
    const { machine } = state;
    const reusable = this.reusable.of(pod);
    const { affinity, preferred } = this.affinities.affinityOf(pod.metadata.uid, container.name);
    const chosen = affinity === undefined ? ownHint(state, requests, reusable) : { affinity, preferred };
    if (preferred && !chosen.preferred) throw new Error('[memorymanager] failed to find the default preferred hint');
    const hint = isEnough(machine, chosen.affinity, requests)
      ? chosen
      : extendedHint(memoryHints(machine, requests, reusable), chosen.affinity);
    if (hint === undefined) {
      throw new Error('[memorymanager] failed to find NUMA nodes to extend the current topology hint');
    }
    if (chosen.preferred && !hint.preferred) {
      throw new Error('[memorymanager] failed to find the extended preferred hint');
    }
    if (isUsedOtherwise(machine, nodesOf(hint.affinity))) {
      throw new Error('[memorymanager] preferred hint violates NUMA node allocation');
    }
    return hint.affinity;
  }

  /** The expected machine state with these assignments. */
  private expected({ assignments }: MemoryState): MachineMemory {
    const machine = copyOfMachine(this.unused);
    for (const [uid, ofPod] of assignments) {
      for (const [container, blocks] of ofPod) {
        for (const block of blocks) {
          checkBlock(machine, block, `(pod: ${uid}, container: ${container})`);
          reserve(machine, block);
        }
      }
    }
    return machine;
  }
}

function newHints({ machine }: MemoryState, requests: MemoryRequests, reusable: Reusable): ResourceHints {
  return hintsByType(memoryHints(machine, requests, reusable), requests);
}

/** kubelet: policy_static.go getDefaultHint */
function ownHint({ machine }: MemoryState, requests: MemoryRequests, reusable: Reusable): MemoryHint {
  const hint = bestMemoryHint(memoryHints(machine, requests, reusable));
  if (hint !== undefined) return hint;
  throw new Error(
    '[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available',
  );
}

function requestsOrNone(read: () => MemoryRequests): MemoryRequests | undefined {
  try {
    return read();
  } catch {
    // The allocation will fail with this error.
    return undefined;
  }
}

function blocksOf({ assignments }: MemoryState, pod: Pod, container: Container): MemoryBlock[] | undefined {
  return assignments.get(pod.metadata.uid)?.get(container.name);
}

function setBlocks({ assignments }: MemoryState, pod: Pod, container: Container, blocks: MemoryBlock[]): void {
  const ofPod = assignments.get(pod.metadata.uid) ?? new Map<string, MemoryBlock[]>();
  assignments.set(pod.metadata.uid, ofPod.set(container.name, blocks));
}

/**
 * Shrinks the blocks of earlier init containers by the memory that this container reuses. kubelet: policy_static.go
 * updateInitContainersMemoryBlocks
 */
function shrinkInitContainerBlocks(state: MemoryState, pod: Pod, container: Container, taken: MemoryBlock): void {
  let left = taken.size;
  for (const init of pod.spec.initContainers ?? []) {
    if (init.name === container.name) return;
    if (isSidecar(init)) continue;
    for (const block of blocksOf(state, pod, init) ?? []) {
      if (block.type !== taken.type || !areGroupsEqual(block.numaAffinity, taken.numaAffinity)) continue;
      const reused = block.size < left ? block.size : left;
      block.size -= reused;
      left -= reused;
    }
  }
}

function checkBlock(machine: MachineMemory, { numaAffinity, type }: MemoryBlock, owner: string): void {
  for (const node of numaAffinity) {
    const memory = machine.get(node);
    if (memory === undefined) {
      throw new Error(`[memorymanager] ${owner} the memory assignment uses the NUMA that does not exist`);
    }
    if (!memory.memoryMap.has(type)) {
      throw new Error(`[memorymanager] ${owner} the memory assignment uses memory resource that does not exist`);
    }
  }
}

/** Compares free and reserved memory by group. kubelet: policy_static.go areMachineStatesEqual */
function isSameMachine(one: MachineMemory, other: MachineMemory): boolean {
  if (one.size !== other.size) return false;
  return [...one.keys()].every((node) => isSameNode(node, one, other));
}

function isSameNode(node: number, one: MachineMemory, other: MachineMemory): boolean {
  const [memory, wanted] = [one.get(node), other.get(node)];
  if (memory?.numberOfAssignments !== wanted?.numberOfAssignments) return false;
  const { cells = [], memoryMap = new Map<string, MemoryTable>() } = memory ?? {};
  if (!areGroupsEqual(cells, wanted?.cells ?? []) || memoryMap.size !== wanted?.memoryMap.size) return false;
  return [...memoryMap].every(
    ([type, table]) =>
      isSameSize(table, wanted.memoryMap.get(type)) &&
      sumOf(one, cells, type, 'free') === sumOf(other, cells, type, 'free') &&
      sumOf(one, cells, type, 'reserved') === sumOf(other, cells, type, 'reserved'),
  );
}

/** kubelet: policy_static.go areMemoryStatesEqual */
function isSameSize(one: MemoryTable, other: MemoryTable | undefined): boolean {
  return (
    one.total === other?.total && one.systemReserved === other.systemReserved && one.allocatable === other.allocatable
  );
}
