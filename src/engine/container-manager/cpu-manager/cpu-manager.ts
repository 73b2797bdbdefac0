import type { Container, Pod, PodStatus } from '../../../api/types.ts';
import { initAndRegularContainers } from '../../../api/values/containers.ts';
import { quantityMilliValue, type Quantity } from '../../../api/values/quantity.ts';
import { runtimeContainerID, initAndRegularStatuses } from '../../../api/values/container-statuses.ts';
import { errorMessage, explained } from '../../../errors.ts';
import { restoreError } from '../checkpoint/restore-error.ts';
import { CPUSet } from '../cpu-topology/cpu-set.ts';
import { CPUTopology, type DescribedMachine } from '../cpu-topology/cpu-topology.ts';
import type { Meter } from '../../view/meter.ts';
import type { AffinityStore } from '../topology-manager/affinity-store.ts';
import type { HintProvider } from '../topology-manager/hint-provider.ts';
import type { StateFile } from '../checkpoint/state-file.ts';
import type { ResourceHints } from '../topology-manager/topology-hint.ts';
import { type Assignment, CPUAssignments } from './cpu-assignments.ts';
import { type ContainerRef, CPUContainers } from './cpu-containers.ts';
import { type CPUPolicy, nonePolicy } from './cpu-policy.ts';
import { requestedCPUs } from './requested-cpus.ts';
import { StaticPolicy } from './static-policy.ts';
import { type OptionGates, staticPolicyOptions } from './static-policy-options.ts';

export interface CPUManagerSettings {
  policy: string;
  options: Readonly<Record<string, string>>;
  /** CPU reservation of the node. Undefined if there is none. */
  reserved: Quantity | undefined;
  /** CPUs reserved by number. If empty, the policy chooses as many as `reserved` requires. */
  reservedCPUs: CPUSet;
}

interface Deps {
  settings: CPUManagerSettings;
  machine: DescribedMachine;
  affinities: AffinityStore;
  featureGates: OptionGates;
  /** Pods whose containers may run. */
  activePods: () => readonly Pod[];
  /** True once every source has reported its pods, so that `activePods` is complete. */
  sourcesReady: () => boolean;
  podStatus: (podUID: string) => PodStatus | undefined;
  /** Makes the runtime move a container to these CPUs, a list such as `0-3,8`. */
  updateContainer: (containerID: string, cpus: string) => Promise<void>;
  meter?: Pick<Meter, 'count' | 'set' | 'setSeries'> | undefined;
}

/** A container of the runtime. */
export interface RuntimeContainer extends ContainerRef {
  id: string;
}

/** One result of `reconcile`. If the pod has no status, `containerName` is empty. */
export interface Reconciled {
  podName: string;
  containerName: string;
  /** Empty if the runtime does not run it yet. */
  containerID: string;
  /** Error of the runtime if it did not move the container. */
  err?: string;
}

/** Containers that have their assigned CPUs, and those that do not. */
export interface Reconciliation {
  success: Reconciled[];
  failure: Reconciled[];
}

/**
 * Assigns CPUs to containers and makes the runtime apply them. kubelet: cpumanager/cpu_manager.go
 *
 * INVARIANTS: a CPU belongs to one pod or is shared. A reserved CPU belongs to no pod.
 */
export class CPUManager implements HintProvider {
  readonly allCPUs: CPUSet;
  private readonly topology: CPUTopology;
  private readonly policy: CPUPolicy;
  private readonly containers = new CPUContainers();
  /** Undefined before the start. */
  private started: CPUAssignments | undefined;

  /** Throws an `Error` with the kubelet's message if the settings do not fit the machine. */
  constructor(private readonly deps: Deps) {
    this.topology = new CPUTopology(deps.machine);
    this.allCPUs = this.topology.cpus;
    this.policy = makePolicy(deps, this.topology);
  }

  /** CPUs that containers can have exclusively. */
  get allocatableCPUs(): CPUSet {
    return this.policy.allocatable;
  }

  /**
   * Call it once, before all other methods, with the containers in the runtime. Throws an `Error` with the kubelet's
   * message if the file is unusable.
   */
  start(file: StateFile, containers: readonly RuntimeContainer[] = []): void {
    for (const container of containers) this.containers.add(container, container.id);
    const assignments = this.restore(file);
    this.policy.start(assignments);
    this.started = assignments;
    this.updateMetrics();
  }

  /** CPUs of all containers without exclusive CPUs. */
  get sharedCPUs(): CPUSet {
    return this.assignments.shared;
  }

  /** All exclusive assignments. */
  get assigned(): Assignment[] {
    return this.assignments.all;
  }

  hints(pod: Pod, container: Container): ResourceHints | undefined {
    this.removeStaleState();
    return this.policy.hints(this.assignments, pod, container);
  }

  podHints(pod: Pod): ResourceHints | undefined {
    this.removeStaleState();
    return this.policy.podHints(this.assignments, pod);
  }

  allocate(pod: Pod, container: Container): void {
    const { meter } = this.deps;
    this.removeStaleState();
    const isPinned = this.policy.name === 'static' && requestedCPUs(pod, container) > 0;
    if (isPinned) meter?.count('kubelet_cpu_manager_pinning_requests_total', {});
    try {
      this.policy.allocate(this.assignments, pod, container);
      if (isPinned) this.countWholeCores('kubelet_container_aligned_compute_resources_count');
    } catch (error) {
      if (isPinned) this.countWholeCores('kubelet_container_aligned_compute_resources_failure_count');
      if (isPinned) meter?.count('kubelet_cpu_manager_pinning_errors_total', {});
      throw error;
    } finally {
      this.updateMetrics();
    }
  }

  /** CPUs for a new container. Empty means any CPU. kubelet: cpu_manager.go GetCPUAffinity */
  effectiveCPUs(podUID: string, containerName: string): CPUSet {
    return this.assignments.effective(podUID, containerName);
  }

  /** Returns an empty set if the container has only shared CPUs. */
  exclusiveCPUs(podUID: string, containerName: string): CPUSet {
    return this.assignments.exclusive(podUID, containerName) ?? CPUSet.empty;
  }

  /** Call it when a container is created, with the CPUs that `effectiveCPUs` returned for it. */
  addContainer(podUID: string, containerName: string, containerID: string, cpus?: CPUSet): void {
    const isShared = this.assignments.exclusive(podUID, containerName) === undefined;
    const container = { podUID, containerName };
    const created = cpus ?? this.effectiveCPUs(podUID, containerName);
    this.containers.add(container, containerID);
    if (!isShared) this.containers.setCPUs(container, created);
    // The shared set changed since the last update, and may change back before the next one.
    else if (this.containers.cpusOf(container)?.equals(created) === false) this.containers.clearCPUs(container);
  }

  /** Returns its CPUs to the shared ones. Not called on every exit, because a restarted container keeps its CPUs. */
  removeContainer(containerID: string): void {
    const container = this.containers.find(containerID);
    if (container === undefined) return;
    this.assignments.release(container.podUID, container.containerName);
    this.containers.removeID(containerID);
    this.updateMetrics();
  }

  /**
   * Moves running containers to their CPUs: those whose set changed since their last move, and those that this agent
   * has never moved. kubelet: cpu_manager.go reconcileState
   */
  async reconcile(): Promise<Reconciliation> {
    const result: Reconciliation = { success: [], failure: [] };
    this.removeStaleState();
    for (const pod of this.deps.activePods()) {
      const status = this.deps.podStatus(pod.metadata.uid);
      const podName = pod.metadata.name;
      if (status === undefined) result.failure.push({ podName, containerName: '', containerID: '' });
      else
        for (const { name } of initAndRegularContainers(pod.spec))
          await this.reconcileContainer(pod, name, status, result);
    }
    return result;
  }

  private async reconcileContainer(
    pod: Pod,
    containerName: string,
    podStatus: PodStatus,
    { success, failure }: Reconciliation,
  ): Promise<void> {
    const { uid: podUID, name: podName } = pod.metadata;
    const status = initAndRegularStatuses(podStatus).find(({ name }) => name === containerName);
    const containerID = runtimeContainerID(status?.containerID);
    if (status === undefined || containerID === '' || isWaiting(status.state ?? {})) {
      failure.push({ podName, containerName, containerID: '' });
      return;
    }
    // A restart reuses its CPUs.
    if (status.state?.terminated !== undefined) return;
    const container = { podUID, containerName };
    this.containers.add(container, containerID);
    const cpus = this.assignments.effective(podUID, containerName);
    const isThere = !cpus.isEmpty && this.containers.cpusOf(container)?.equals(cpus) === true;
    const err = isThere ? undefined : await this.moveContainer(containerID, cpus);
    if (err !== undefined) {
      failure.push({ podName, containerName, containerID, err });
      return;
    }
    this.containers.setCPUs(container, cpus);
    success.push({ podName, containerName, containerID });
  }

  /** Resolves with the error if the move failed. The next reconciliation retries it. */
  private async moveContainer(containerID: string, cpus: CPUSet): Promise<string | undefined> {
    if (cpus.isEmpty) return 'there are no shared CPUs';
    try {
      await this.deps.updateContainer(containerID, cpus.toString());
      return undefined;
    } catch (error) {
      return errorMessage(error);
    }
  }

  private countWholeCores(name: `kubelet_container_aligned_compute_resources_${'count' | 'failure_count'}`): void {
    const { meter, settings } = this.deps;
    if (settings.options['full-pcpus-only'] !== 'true') return;
    meter?.count(name, { boundary: 'physical_cpu', scope: 'container' });
  }

  /** kubelet: policy_static.go updateMetricsOnAllocate, updateMetricsOnRelease */
  private updateMetrics(): void {
    if (this.policy.name === 'none') return;
    const { topology, deps } = this;
    const { meter } = deps;
    const exclusive = CPUSet.empty.union(...this.assignments.all.map(({ cpus }) => cpus));
    meter?.set('kubelet_cpu_manager_exclusive_cpu_allocation_count', exclusive.size);
    meter?.set('kubelet_cpu_manager_shared_pool_size_millicores', this.assignments.shared.size * 1000);
    for (const node of topology.idsOf('numaNode')) {
      const cpus = topology.cpusIn('numaNode', node).intersection(exclusive);
      meter?.setSeries('kubelet_cpu_manager_allocation_per_numa', cpus.size, { numa_node: String(node) });
    }
  }

  private get assignments(): CPUAssignments {
    if (this.started === undefined) throw new Error('The CPU manager was not started');
    return this.started;
  }

  private restore(file: StateFile): CPUAssignments {
    try {
      return new CPUAssignments(file, this.policy.name, (id) => this.containers.find(id));
    } catch (error) {
      throw restoreError(error, 'CPU', file.path);
    }
  }

  /** Releases the CPUs of containers whose pods are not active. kubelet: cpu_manager.go removeStaleState */
  private removeStaleState(): void {
    if (!this.deps.sourcesReady()) return;
    const active = new Map(
      this.deps
        .activePods()
        .map((pod) => [pod.metadata.uid, new Set(initAndRegularContainers(pod.spec).map(({ name }) => name))]),
    );
    for (const { podUID, containerName } of [...this.assignments.all, ...this.containers.all]) {
      if (active.get(podUID)?.has(containerName) !== true) this.release(podUID, containerName);
    }
  }

  private release(podUID: string, containerName: string): void {
    this.assignments.release(podUID, containerName);
    this.containers.remove({ podUID, containerName });
    this.updateMetrics();
  }
}

/** kubelet: cpu_manager.go NewManager */
function makePolicy({ settings, affinities, featureGates }: Deps, topology: CPUTopology): CPUPolicy {
  const { policy, options, reserved, reservedCPUs } = settings;
  switch (policy) {
    case 'none':
      return explained('new none policy error', () => nonePolicy(options));
    case 'static': {
      const numReserved = wholeCPUs(reserved);
      return explained('new static policy error', () => {
        const read = staticPolicyOptions(options, featureGates);
        return new StaticPolicy({ topology, options: read, numReserved, reserved: reservedCPUs, affinities });
      });
    }
    default:
      throw new Error(`unknown policy: "${policy}"`);
  }
}

/** Rounds up to whole CPUs. Requires a reservation, because otherwise no shared CPUs might remain. */
function wholeCPUs(reserved: Quantity | undefined): number {
  if (reserved === undefined) {
    throw new Error('[cpumanager] unable to determine reserved CPU resources for static policy');
  }
  if (reserved.nanos === 0n) {
    throw new Error(
      '[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero',
    );
  }
  return Math.ceil(Number(quantityMilliValue(reserved)) / 1000);
}

function isWaiting(state: NonNullable<NonNullable<PodStatus['containerStatuses']>[number]['state']>): boolean {
  return state.waiting !== undefined || (state.running === undefined && state.terminated === undefined);
}
