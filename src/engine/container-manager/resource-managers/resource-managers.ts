import type { Container, Pod, PodStatus } from '../../../api/types.ts';
import type { FeatureGates } from '../../../api/values/feature-gates.ts';
import { errorMessage } from '../../../errors.ts';
import {
  CPUManager,
  type CPUManagerSettings,
  type Reconciliation,
  type RuntimeContainer,
} from '../cpu-manager/cpu-manager.ts';
import { CPUSet } from '../cpu-topology/cpu-set.ts';
import type { DescribedMachine } from '../cpu-topology/cpu-topology.ts';
import type { NUMAMemory } from '../memory-manager/machine-memory.ts';
import { MemoryManager, type MemorySettings } from '../memory-manager/memory-manager.ts';
import type { AllocationResult } from '../topology-manager/allocation-error.ts';
import type { Meter } from '../../view/meter.ts';
import type { HintProvider } from '../topology-manager/hint-provider.ts';
import type { StateFile } from '../checkpoint/state-file.ts';
import { TopologyManager, type TopologySettings } from '../topology-manager/topology-manager.ts';

export interface ResourceManagerSettings {
  topology: TopologySettings;
  cpu: CPUManagerSettings;
  memory: MemorySettings;
}

/** The engine functions that the managers use. */
export interface EngineOfManagers {
  /** Pods whose containers may run. */
  activePods: () => readonly Pod[];
  /** True once every source has reported its pods, so that `activePods` is complete. */
  sourcesReady: () => boolean;
  podStatus: (podUID: string) => PodStatus | undefined;
  /** Makes the runtime move a container to these CPUs, a list such as `0-3,8`. */
  updateContainer: (containerID: string, cpus: string) => Promise<void>;
  meter?: Pick<Meter, 'count' | 'set' | 'setSeries'> | undefined;
  /** The devices of plugins. Undefined if the node does not accept plugins. */
  devices?: HintProvider | undefined;
}

interface Deps extends EngineOfManagers {
  settings: ResourceManagerSettings;
  machine: DescribedMachine;
  memory: readonly NUMAMemory[];
  featureGates: FeatureGates;
}

/** A manager rejected its settings or its state file. */
export class ResourceManagerError extends Error {
  override readonly name = 'ResourceManagerError';
  readonly manager: 'topology' | 'cpu' | 'memory';

  constructor(manager: 'topology' | 'cpu' | 'memory', cause: unknown) {
    super(errorMessage(cause), { cause });
    this.manager = manager;
  }
}

/** CPUs and memory nodes of a container as lists. An empty list means any. */
export interface ContainerCpusets {
  cpusetCpus: string;
  cpusetMems: string;
}

/**
 * The topology, CPU and memory managers together. kubelet: cm/container_manager_linux.go,
 * internal_container_lifecycle_linux.go
 */
export class ResourceManagers {
  readonly topology: TopologyManager;
  readonly cpu: CPUManager;
  readonly memory: MemoryManager;

  /** Throws a `ResourceManagerError` for the first setting that the kubelet rejects, in the kubelet's order. */
  constructor({ settings, machine, memory, featureGates, devices, ...engine }: Deps) {
    const topology = withManagerError(
      'topology',
      () => new TopologyManager({ settings: settings.topology, nodes: machine.nodes, meter: engine.meter }),
    );
    const affinities = topology;
    this.cpu = withManagerError(
      'cpu',
      () => new CPUManager({ settings: settings.cpu, machine, affinities, featureGates, ...engine }),
    );
    this.memory = withManagerError(
      'memory',
      () => new MemoryManager({ settings: settings.memory, nodes: memory, affinities, ...engine }),
    );
    if (devices !== undefined) topology.addHintProvider(devices);
    topology.addHintProvider(this.cpu);
    topology.addHintProvider(this.memory);
    this.topology = topology;
  }

  /**
   * Call it once, before all other methods, with the containers in the runtime. Throws a `ResourceManagerError` if the
   * kubelet rejects a state file.
   */
  start(files: { cpu: StateFile; memory: StateFile }, containers: readonly RuntimeContainer[] = []): void {
    withManagerError('cpu', () => {
      this.cpu.start(files.cpu, containers);
    });
    withManagerError('memory', () => {
      this.memory.start(files.memory);
    });
  }

  /** Allocates for all containers of a pod. kubelet: topologymanager/scope.go Admit */
  admit(pod: Pod): AllocationResult {
    return this.topology.admit(pod);
  }

  /** The CPUs and memory nodes of a new container. kubelet: internal_container_lifecycle_linux.go PreCreateContainer */
  cpusetsOf(pod: Pod, container: Container): ContainerCpusets {
    const { uid } = pod.metadata;
    return {
      cpusetCpus: this.cpu.effectiveCPUs(uid, container.name).toString(),
      cpusetMems: this.memory.nodesOf(uid, container.name).join(','),
    };
  }

  /**
   * Call it when a container is created, with its CPUs and memory nodes. kubelet: internal_container_lifecycle.go
   * PreStartContainer
   */
  preStart(pod: Pod, container: Container, containerID: string, { cpusetCpus }: ContainerCpusets): void {
    const { uid } = pod.metadata;
    this.cpu.addContainer(uid, container.name, containerID, CPUSet.parse(cpusetCpus));
    this.memory.addContainer(pod, container, containerID);
    this.topology.addContainer(uid, container.name, containerID);
  }

  /** Call it when a container has exited. kubelet: internal_container_lifecycle.go PostStopContainer */
  postStop(containerID: string): void {
    this.topology.removeContainer(containerID);
  }

  /** Moves running containers to their CPUs. */
  reconcile(): Promise<Reconciliation> {
    return this.cpu.reconcile();
  }
}

function withManagerError<T>(manager: ResourceManagerError['manager'], make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw new ResourceManagerError(manager, error);
  }
}
