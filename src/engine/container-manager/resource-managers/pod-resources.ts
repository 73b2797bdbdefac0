import type { Container, Pod } from '../../../api/types.ts';
import type { FeatureGates } from '../../../api/values/feature-gates.ts';
import type { Clock } from '../../../clock.ts';
import type { Logger } from '../../../logger.ts';
import { type DiskStateFile, startWithStateFile } from '../checkpoint/disk-state-file.ts';
import { CPUReconciler } from '../cpu-manager/cpu-reconciler.ts';
import type { DescribedMachine } from '../cpu-topology/cpu-topology.ts';
import type { NUMAMemory } from '../memory-manager/machine-memory.ts';
import type { MemoryBlock } from '../memory-manager/memory-state.ts';
import type { AllocationResult } from '../topology-manager/allocation-error.ts';
import type { BitMask } from '../topology-manager/bit-mask.ts';
import {
  type ContainerCpusets,
  type EngineOfManagers,
  ResourceManagers,
  type ResourceManagerSettings,
} from './resource-managers.ts';

interface Deps {
  settings: ResourceManagerSettings;
  machine: DescribedMachine;
  memory: readonly NUMAMemory[];
  featureGates: FeatureGates;
  files: { cpu: DiskStateFile; memory: DiskStateFile };
  /** Milliseconds between two reconciliations of the containers' CPUs. */
  reconcilePeriodMs: number;
  clock: Clock;
  logger: Logger;
}

/**
 * Manages the exclusive CPUs and memory nodes of pods while the agent runs. kubelet: cm/container_manager_linux.go
 *
 * INVARIANT: the managers admit a pod before any of its containers is created.
 */
export class PodResources {
  private readonly managers: ResourceManagers;
  private readonly reconciler: CPUReconciler;
  /** UIDs of pods that were admitted and have been active since. */
  private readonly admitted = new Set<string>();
  /**
   * Pods whose admission is running, with the UIDs of pods that were rejected during it. They count as active although
   * they have no worker yet.
   */
  private readonly admitting = new Map<Pod, Set<string>>();
  /**
   * Pods that were admitted with plugins. They count as active while the function returns true, although they have no
   * worker yet.
   */
  private readonly awaited = new Map<Pod, () => boolean>();

  /** Throws a `ResourceManagerError` if the kubelet rejects the settings. */
  constructor(
    private readonly deps: Deps,
    private readonly engine: EngineOfManagers,
  ) {
    this.managers = new ResourceManagers({
      ...deps,
      ...engine,
      activePods: () => this.activePods(),
      updateContainer: (containerID, cpus) => this.moveContainer(containerID, cpus),
    });
    this.reconciler = new CPUReconciler({
      reconcile: () => this.managers.reconcile(),
      periodMs: deps.reconcilePeriodMs,
      clock: deps.clock,
      logger: deps.logger,
    });
  }

  /** Reads the state files. Call it before all other methods. Rejects with the error of the file system. */
  async start(): Promise<void> {
    const { files, logger } = this.deps;
    await startWithStateFile(this.managers.cpu, files.cpu, logger);
    await startWithStateFile(this.managers.memory, files.memory, logger);
  }

  /** Moves containers to their CPUs until the signal is aborted. kubelet: cpumanager/cpu_manager.go Start */
  async run(signal: AbortSignal): Promise<void> {
    // With policy none no container has exclusive CPUs, so there is nothing to reconcile.
    if (this.deps.settings.cpu.policy !== 'none') await this.reconciler.run(signal);
  }

  /** Schedules a reconciliation after a pod was added or removed, or a container started. */
  scheduleReconcile(): void {
    this.reconciler.scheduleSoon();
  }

  /** Resolves once the state files are written. */
  async close(): Promise<void> {
    const { files } = this.deps;
    await Promise.all([files.cpu.close(), files.memory.close()]);
  }

  /** Allocates for all containers of a pod that is not running. */
  admit(pod: Pod): AllocationResult {
    const { uid } = pod.metadata;
    this.admitting.set(pod, new Set());
    try {
      const result = this.managers.admit(pod);
      if (result.admit) this.admitted.add(uid);
      else for (const refused of this.admitting.values()) refused.add(uid);
      return result;
    } finally {
      this.admitting.delete(pod);
    }
  }

  /**
   * Like `admit`, including the devices of plugins. The pod keeps its resources while `isAwaited` returns true. Also
   * resolves with the UIDs of pods that were rejected during the call. Never rejects.
   */
  async admitWithPlugins(
    pod: Pod,
    isAwaited: () => boolean,
  ): Promise<{ result: AllocationResult; refusedMeanwhile: string[] }> {
    const refusedMeanwhile = new Set<string>();
    this.admitting.set(pod, refusedMeanwhile);
    const result = await this.managers.topology.admitWithPlugins(pod);
    this.admitting.delete(pod);
    if (result.admit) {
      this.admitted.add(pod.metadata.uid);
      this.awaited.set(pod, isAwaited);
    } else for (const refused of this.admitting.values()) refused.add(pod.metadata.uid);
    return { result, refusedMeanwhile: [...refusedMeanwhile] };
  }

  /** True if a policy aligns a container's CPUs, memory and devices on the same NUMA nodes. */
  get isAligning(): boolean {
    return this.managers.topology.policyName !== 'none';
  }

  /** NUMA nodes of the machine. */
  get numaNodes(): readonly number[] {
    return this.deps.machine.nodes.map(({ id }) => id);
  }

  /** NUMA nodes chosen for a container. Undefined means any. */
  affinityOf(podUID: string, containerName: string): BitMask | undefined {
    return this.managers.topology.affinityOf(podUID, containerName).affinity;
  }

  /** Exclusive resources of a container. */
  resourcesOf(podUID: string, containerName: string): { cpus: number[]; memory: readonly MemoryBlock[] } {
    const { cpu, memory } = this.managers;
    return { cpus: [...cpu.exclusiveCPUs(podUID, containerName)], memory: memory.blocksOf(podUID, containerName) };
  }

  /** Resources that containers can have exclusively. */
  allocatable(): { cpus: number[]; memory: readonly MemoryBlock[] } {
    return { cpus: [...this.managers.cpu.allocatableCPUs], memory: this.managers.memory.allocatable() };
  }

  /**
   * Allocates for a running pod, for example after the agent restarted. If the managers reject the pod, it keeps
   * running on the shared CPUs; the kubelet would stop it.
   */
  readmit(pod: Pod): AllocationResult {
    const result = this.admit(pod);
    this.admitted.add(pod.metadata.uid);
    return result;
  }

  /**
   * The CPUs and memory nodes of a new container. Throws an `Error` if its pod restarts and other pods now use its
   * resources.
   */
  cpusetsOf(pod: Pod, container: Container): ContainerCpusets {
    if (!this.admitted.has(pod.metadata.uid)) {
      const result = this.admit(pod);
      if (!result.admit) throw new Error(`${result.reason}: ${result.message}`);
    }
    return this.managers.cpusetsOf(pod, container);
  }

  /** Call it when a container is created, with its CPUs and memory nodes. */
  preStart(pod: Pod, container: Container, containerID: string, sets: ContainerCpusets): void {
    this.managers.preStart(pod, container, containerID, sets);
  }

  /** Call it when a container has exited. */
  postStop(containerID: string): void {
    this.managers.postStop(containerID);
  }

  private async moveContainer(containerID: string, cpus: string): Promise<void> {
    await this.engine.updateContainer(containerID, cpus);
    this.deps.logger.debug({ containerID, cpus }, 'Moved a container to its CPUs');
  }

  /** Active pods. Active pods. Active pods. The managers free the resources of all other pods. */
  private activePods(): Pod[] {
    for (const [pod, isAwaited] of this.awaited) if (!isAwaited()) this.awaited.delete(pod);
    const admitting = [...this.awaited.keys(), ...this.admitting.keys()];
    const beingAdmitted = new Set(admitting.map(({ metadata }) => metadata.uid));
    const others = this.engine.activePods().filter(({ metadata }) => !beingAdmitted.has(metadata.uid));
    const active = [...others, ...admitting];
    const uids = new Set(active.map(({ metadata }) => metadata.uid));
    for (const admitted of this.admitted) if (!uids.has(admitted)) this.admitted.delete(admitted);
    return active;
  }
}
