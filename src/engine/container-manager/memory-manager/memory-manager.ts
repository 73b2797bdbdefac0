import type { Container, Pod, ResourceList } from '../../../api/types.ts';
import { initAndRegularContainers } from '../../../api/values/containers.ts';
import { restoreError } from '../checkpoint/restore-error.ts';
import type { AffinityStore } from '../topology-manager/affinity-store.ts';
import { ContainerMap } from '../topology-manager/container-map.ts';
import type { HintProvider } from '../topology-manager/hint-provider.ts';
import type { StateFile } from '../checkpoint/state-file.ts';
import type { ResourceHints } from '../topology-manager/topology-hint.ts';
import type { Meter } from '../../view/meter.ts';
import { isSidecar } from '../../../api/values/sidecars.ts';
import { isPinned } from './memory-requests.ts';
import type { NUMAMemory } from './machine-memory.ts';
import { formatMemoryCheckpoint, parseMemoryCheckpoint } from './memory-checkpoint.ts';
import type { MemoryBlock, MemoryState } from './memory-state.ts';
import { type MemoryReservation, systemReservedMemory } from './reserved-memory.ts';
import { StaticMemoryPolicy } from './static-memory-policy.ts';

export interface MemorySettings {
  policy: string;
  /** systemReserved, kubeReserved and the hard eviction threshold together. */
  nodeReservation: ResourceList;
  reservedMemory: readonly MemoryReservation[];
}

interface Deps {
  settings: MemorySettings;
  nodes: readonly NUMAMemory[];
  affinities: AffinityStore;
  /** Pods whose containers may run. */
  activePods: () => readonly Pod[];
  /** True once every source has reported its pods, so that `activePods` is complete. */
  sourcesReady: () => boolean;
  meter?: Pick<Meter, 'count'> | undefined;
}

/** kubelet: memorymanager/memory_manager.go */
export class MemoryManager implements HintProvider {
  /** Undefined for policy None. */
  private readonly policy: StaticMemoryPolicy | undefined;
  private readonly containers = new ContainerMap();
  private state: MemoryState = { machine: new Map(), assignments: new Map() };
  /** Undefined before the start. */
  private file: StateFile | undefined;

  /** Throws an `Error` if the kubelet rejects the settings. kubelet: memory_manager.go NewManager */
  constructor(private readonly deps: Deps) {
    const { nodes, affinities } = deps;
    const { policy, nodeReservation, reservedMemory } = deps.settings;
    switch (policy) {
      case 'None':
        break;
      case 'Static': {
        const ids = nodes.map(({ id }) => id);
        const reserved = systemReservedMemory({ nodes: ids, nodeReservation, reservedMemory });
        this.policy = new StaticMemoryPolicy({ nodes, reserved, affinities });
        break;
      }
      case 'BestEffort':
        throw new Error('policy "BestEffort" is not available for platform "linux"');
      default:
        throw new Error(`unknown policy: "${policy}"`);
    }
  }

  /**
   * Call it once, before all other methods. Throws an `Error` with the kubelet's message if the file is unusable.
   * kubelet: memory_manager.go Start
   */
  start(file: StateFile): void {
    const restored = this.restore(file);
    this.state = this.policy?.start(restored) ?? restored;
    this.file = file;
    if (file.content === undefined || this.state !== restored) this.save();
  }

  /**
   * Memory available to containers, with one block per NUMA node and type. kubelet: policy_static.go
   * GetAllocatableMemory
   */
  allocatable(): MemoryBlock[] {
    return [...this.state.machine].flatMap(([node, { memoryMap }]) =>
      [...memoryMap].flatMap(([type, { allocatable }]) =>
        allocatable === 0n ? [] : [{ numaAffinity: [node], type, size: allocatable }],
      ),
    );
  }

  hints(pod: Pod, container: Container): ResourceHints | undefined {
    this.removeStaleState();
    return this.policy?.hints(this.state, pod, container);
  }

  podHints(pod: Pod): ResourceHints | undefined {
    this.removeStaleState();
    return this.policy?.podHints(this.state, pod);
  }

  allocate(pod: Pod, container: Container): void {
    this.removeStaleState();
    const { policy, deps } = this;
    if (policy === undefined) return;
    if (isPinned(pod)) deps.meter?.count('kubelet_memory_manager_pinning_requests_total', {});
    try {
      if (policy.allocate(this.state, pod, container)) this.save();
    } catch (error) {
      if (isPinned(pod)) deps.meter?.count('kubelet_memory_manager_pinning_errors_total', {});
      throw error;
    }
  }

  /** Exclusive memory of a container. kubelet: memory_manager.go GetMemory */
  blocksOf(podUID: string, containerName: string): readonly MemoryBlock[] {
    return this.state.assignments.get(podUID)?.get(containerName) ?? [];
  }

  /**
   * The NUMA nodes of a container's memory, ascending. Empty means any. kubelet: memory_manager.go GetMemoryNUMANodes
   */
  nodesOf(podUID: string, containerName: string): number[] {
    const blocks = this.blocksOf(podUID, containerName);
    return [...new Set(blocks.flatMap(({ numaAffinity }) => numaAffinity))].sort((a, b) => a - b);
  }

  /**
   * Call it when a container is created. Frees the memory of earlier init containers, which have exited. kubelet:
   * memory_manager.go AddContainer
   */
  addContainer(pod: Pod, container: Container, containerID: string): void {
    const { uid } = pod.metadata;
    this.containers.add(uid, container.name, containerID);
    for (const init of pod.spec.initContainers ?? []) {
      if (init.name === container.name) break;
      if (!isSidecar(init)) this.remove(uid, init.name);
    }
  }

  /** Frees the memory of a container. Does nothing if its id is unknown. kubelet: memory_manager.go RemoveContainer */
  removeContainer(containerID: string): void {
    const ref = this.containers.remove(containerID);
    if (ref !== undefined) this.remove(ref.podUID, ref.containerName);
  }

  /** Frees the memory of containers whose pods are not active. kubelet: memory_manager.go removeStaleState */
  private removeStaleState(): void {
    if (this.policy === undefined || !this.deps.sourcesReady()) return;
    const active = new Map(this.deps.activePods().map((pod) => [pod.metadata.uid, namesOf(pod)]));
    for (const [uid, ofPod] of this.state.assignments) {
      for (const name of ofPod.keys()) if (active.get(uid)?.has(name) !== true) this.remove(uid, name);
    }
    this.containers.retain(({ podUID, containerName }) => active.get(podUID)?.has(containerName) === true);
  }

  private remove(podUID: string, containerName: string): void {
    this.containers.removeAll(podUID, containerName);
    if (this.policy?.remove(this.state, podUID, containerName) === true) this.save();
  }

  private restore(file: StateFile): MemoryState {
    if (file.content === undefined) return { machine: new Map(), assignments: new Map() };
    try {
      return parseMemoryCheckpoint(file.content, this.deps.settings.policy);
    } catch (error) {
      throw restoreError(error, 'memory', file.path);
    }
  }

  private save(): void {
    this.file?.write(formatMemoryCheckpoint(this.deps.settings.policy, this.state));
  }
}

function namesOf({ spec }: Pod): Set<string> {
  return new Set(initAndRegularContainers(spec).map(({ name }) => name));
}
