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
  /** CPUs reserved by number. Empty: as many as are reserved are chosen. */
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
  /** Has the runtime move a container to these CPUs, given as a list such as `0-3,8`. */
  updateContainer: (containerID: string, cpus: string) => Promise<void>;
  meter?: Pick<Meter, 'count' | 'set'> | undefined;
}

/** A container of the runtime. */
export interface RuntimeContainer extends ContainerRef {
  id: string;
}

/** A container that `reconcile` looked at. Without a container, its pod has no status. */
export interface Reconciled {
  podName: string;
  containerName: string;
  /** Empty if the runtime does not run it yet. */
  containerID: string;
  /** Why the runtime did not move it. */
  err?: string;
}

/** Which containers have the CPUs they should have. */
export interface Reconciliation {
  success: Reconciled[];
  failure: Reconciled[];
}

/**
 * Gives containers CPUs, and has the runtime keep them there. kubelet: cpumanager/cpu_manager.go
 *
 * INVARIANTS: a CPU belongs to one pod or is shared. A reserved CPU belongs to no pod.
 */
export class CPUManager implements HintProvider {
  readonly allCPUs: CPUSet;
  private readonly policy: CPUPolicy;
  private readonly containers = new CPUContainers();
  /** Undefined before the start. */
  private started: CPUAssignments | undefined;

  /** Throws an `Error` with the kubelet's message for settings that do not suit the machine. */
  constructor(private readonly deps: Deps) {
    const topology = new CPUTopology(deps.machine);
    this.allCPUs = topology.cpus;
    this.policy = makePolicy(deps, topology);
  }

  /** CPUs that containers can have for themselves. */
  get allocatableCPUs(): CPUSet {
    return this.policy.allocatable;
  }

  /**
   * Called once, before all other methods, with the containers that the runtime has. Throws an `Error` with the
   * kubelet's message if the file cannot be used.
   */
  start(file: StateFile, containers: readonly RuntimeContainer[] = []): void {
    for (const container of containers) this.containers.add(container, container.id);
    const assignments = this.restore(file);
    this.policy.start(assignments);
    this.started = assignments;
    this.measure();
  }

  /** CPUs of all containers that have none for themselves. */
  get sharedCPUs(): CPUSet {
    return this.assignments.shared;
  }

  /** Of all containers that have CPUs for themselves. */
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
    } catch (error) {
      if (isPinned) meter?.count('kubelet_cpu_manager_pinning_errors_total', {});
      throw error;
    } finally {
      this.measure();
    }
  }

  /** CPUs for a new container, as a list such as `0-3,8`. Empty: any. kubelet: cpu_manager.go GetCPUAffinity */
  effectiveCPUs(podUID: string, containerName: string): CPUSet {
    return this.assignments.effective(podUID, containerName);
  }

  /** Empty if the container shares its CPUs. */
  exclusiveCPUs(podUID: string, containerName: string): CPUSet {
    return this.assignments.exclusive(podUID, containerName) ?? CPUSet.empty;
  }

  /** Called when a container was created, with the CPUs that `effectiveCPUs` returned for it. */
  addContainer(podUID: string, containerName: string, containerID: string, cpus?: CPUSet): void {
    const isShared = this.assignments.exclusive(podUID, containerName) === undefined;
    const container = { podUID, containerName };
    const created = cpus ?? this.effectiveCPUs(podUID, containerName);
    this.containers.add(container, containerID);
    if (!isShared) this.containers.setCPUs(container, created);
    // The set changed since the last update. It can change back before the next one.
    else if (this.containers.cpusOf(container)?.equals(created) === false) this.containers.forgetCPUs(container);
  }

  /** Its CPUs are shared again. A container that is restarted keeps them, so its end alone does not call this. */
  removeContainer(containerID: string): void {
    const container = this.containers.find(containerID);
    if (container === undefined) return;
    this.assignments.release(container.podUID, container.containerName);
    this.containers.forgetID(containerID);
    this.measure();
  }

  /**
   * Moves running containers to the CPUs they should have: those of which the set changed since they were last moved,
   * and those that this agent has not moved before. kubelet: cpu_manager.go reconcileState
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
    // It can be restarted with its CPUs.
    if (status.state?.terminated !== undefined) return;
    const container = { podUID, containerName };
    this.containers.add(container, containerID);
    const cpus = this.assignments.effective(podUID, containerName);
    const isThere = !cpus.isEmpty && this.containers.cpusOf(container)?.equals(cpus) === true;
    const err = isThere ? undefined : await this.move(containerID, cpus);
    if (err !== undefined) {
      failure.push({ podName, containerName, containerID, err });
      return;
    }
    this.containers.setCPUs(container, cpus);
    success.push({ podName, containerName, containerID });
  }

  /** Resolves with the problem if it could not be moved; the next reconciliation tries again. */
  private async move(containerID: string, cpus: CPUSet): Promise<string | undefined> {
    if (cpus.isEmpty) return 'there are no shared CPUs';
    try {
      await this.deps.updateContainer(containerID, cpus.toString());
      return undefined;
    } catch (error) {
      return errorMessage(error);
    }
  }

  /** kubelet: policy_static.go updateMetricsOnAllocate, updateMetricsOnRelease */
  private measure(): void {
    if (this.policy.name === 'none') return;
    const { meter } = this.deps;
    const exclusive = CPUSet.empty.union(...this.assignments.all.map(({ cpus }) => cpus));
    meter?.set('kubelet_cpu_manager_exclusive_cpu_allocation_count', exclusive.size);
    meter?.set('kubelet_cpu_manager_shared_pool_size_millicores', this.assignments.shared.size * 1000);
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

  /** Containers of pods that are not active have no CPUs. kubelet: cpu_manager.go removeStaleState */
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
    this.containers.forget({ podUID, containerName });
    this.measure();
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

/** A part of a CPU reserves it all. Without a reservation the shared CPUs could be used up. */
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
