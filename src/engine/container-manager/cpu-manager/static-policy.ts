import type { Container, Pod } from '../../../api/types.ts';
import { initAndRegularContainers } from '../../../api/values/containers.ts';
import { CPUSet } from '../cpu-topology/cpu-set.ts';
import type { CPUTopology } from '../cpu-topology/cpu-topology.ts';
import type { AffinityStore } from '../topology-manager/affinity-store.ts';
import { AllocationError } from '../topology-manager/allocation-error.ts';
import { type BitMask, nodesOf, countOf, masksOf } from '../topology-manager/bit-mask.ts';
import type { ResourceHints, TopologyHint } from '../topology-manager/topology-hint.ts';
import { takeCPUs } from './cpu-accumulator.ts';
import type { CPUAssignments } from './cpu-assignments.ts';
import type { CPUPolicy } from './cpu-policy.ts';
import { distributeCPUs } from './distribute-cpus.ts';
import { podRequestedCPUs, requestedCPUs } from './requested-cpus.ts';
import type { StaticPolicyOptions } from './static-policy-options.ts';
import { isRegularInit } from '../../../api/values/sidecars.ts';

interface Deps {
  topology: CPUTopology;
  options: StaticPolicyOptions;
  /** Number of CPUs that no container can have exclusively. */
  numReserved: number;
  /** The reserved CPUs. If empty, they are chosen in the same way as the CPUs of a container. */
  reserved: CPUSet;
  affinities: AffinityStore;
}

/**
 * Gives exclusive CPUs to containers of Guaranteed pods that request whole CPUs. All other containers share the rest.
 * kubelet: cpumanager/policy_static.go
 */
export class StaticPolicy implements CPUPolicy {
  readonly name = 'static';
  readonly allocatable: CPUSet;
  private readonly topology: CPUTopology;
  private readonly options: StaticPolicyOptions;
  private readonly affinities: AffinityStore;
  private readonly reserved: CPUSet;
  /** Reserved CPUs and their siblings on the same cores. */
  private readonly reservedCores: CPUSet;
  private readonly toReuse = new CPUsToReuse();

  /** Throws an `Error` if the machine cannot reserve this many CPUs or does not fit the options. */
  constructor({ topology, options, numReserved, reserved, affinities }: Deps) {
    this.topology = topology;
    this.options = options;
    this.affinities = affinities;
    this.checkSocketAlignment();
    this.reserved = reserved.isEmpty ? this.chooseReserved(numReserved) : reserved;
    if (this.reserved.size !== numReserved) {
      const found = `size of ${this.reserved.toString()} did not equal ${numReserved}`;
      throw new Error(`[cpumanager] unable to reserve the required amount of CPUs (${found})`);
    }
    const [unknown] = this.reserved.difference(topology.cpus);
    if (unknown !== undefined) {
      const problem = 'unable to build the reserved physical CPUs from the reserved set';
      throw new Error(`[cpumanager] ${problem}: unknown CPU ID: ${unknown}`);
    }
    this.reservedCores = topology.cpusIn('core', ...topology.idsOf('core', this.reserved));
    this.allocatable = topology.cpus.difference(this.reserved);
  }

  /** kubelet: policy_static.go validateState */
  start(assignments: CPUAssignments): void {
    const { all, shared } = assignments;
    const isStrict = this.options['strict-cpu-reservation'];
    const managed = isStrict ? this.allocatable : this.topology.cpus;
    if (shared.isEmpty) {
      // With a strict reservation, the agent itself may have written this state.
      if (assignments.podCount > 0) throw new Error('default cpuset cannot be empty');
      assignments.share(managed);
      return;
    }
    this.checkReserved(shared, isStrict);
    for (const { podUID, containerName, cpus } of all) {
      if (shared.intersection(cpus).isEmpty) continue;
      const what = `pod: ${podUID}, container: ${containerName} cpuset: "${cpus.toString()}"`;
      throw new Error(`${what} overlaps with default cpuset "${shared.toString()}"`);
    }
    const known = shared.union(...all.map(({ cpus }) => cpus));
    if (known.equals(managed)) return;
    const difference = `available CPUs "${managed.toString()}" doesn't match with CPUs in state "${known.toString()}"`;
    throw new Error(`current set of ${difference}`);
  }

  /** kubelet: policy_static.go GetTopologyHints */
  hints(assignments: CPUAssignments, pod: Pod, container: Container): ResourceHints | undefined {
    const request = requestedCPUs(pod, container);
    if (request === 0) return undefined;
    const assigned = assignments.exclusive(pod.metadata.uid, container.name);
    if (assigned === undefined) return this.hintsFor(request, this.free(assignments), this.toReuse.of(pod));
    return assigned.size === request ? this.hintsFor(request, assigned, CPUSet.empty) : nothingFits;
  }

  /** kubelet: policy_static.go GetPodTopologyHints */
  podHints(assignments: CPUAssignments, pod: Pod): ResourceHints | undefined {
    const request = podRequestedCPUs(pod);
    if (request === 0) return undefined;
    let assigned = CPUSet.empty;
    for (const container of initAndRegularContainers(pod.spec)) {
      const cpus = assignments.exclusive(pod.metadata.uid, container.name);
      if (cpus !== undefined && cpus.size !== requestedCPUs(pod, container)) return nothingFits;
      if (cpus !== undefined) assigned = assigned.union(cpus);
    }
    if (assigned.size === request) return this.hintsFor(request, assigned, CPUSet.empty);
    return this.hintsFor(request, this.free(assignments), this.toReuse.of(pod).union(assigned));
  }

  /** kubelet: policy_static.go Allocate */
  allocate(assignments: CPUAssignments, pod: Pod, container: Container): void {
    const request = requestedCPUs(pod, container);
    if (request === 0) return;
    // Checked even if the container already has CPUs, as in the kubelet.
    if (this.options['full-pcpus-only']) this.checkWholeCores(assignments, request);
    const { uid } = pod.metadata;
    const assigned = assignments.exclusive(uid, container.name);
    const cpus = assigned ?? this.choose(assignments, pod, container, request);
    if (assigned === undefined) assignments.assign({ podUID: uid, containerName: container.name, cpus });
    this.toReuse.update(pod, container, cpus);
  }

  /** Chooses CPUs of the container's NUMA nodes first. kubelet: policy_static.go allocateCPUs */
  private choose(assignments: CPUAssignments, pod: Pod, container: Container, request: number): CPUSet {
    const free = this.free(assignments).union(this.toReuse.of(pod));
    const { affinity } = this.affinities.affinityOf(pod.metadata.uid, container.name);
    const near = affinity === undefined ? CPUSet.empty : this.cpusNear(affinity).intersection(free);
    const aligned = this.takeByTopology(near, Math.min(request, near.size));
    return aligned.union(this.takeByTopology(free.difference(aligned), request - aligned.size));
  }

  /** kubelet: policy_static.go getAlignedCPUs */
  private cpusNear(affinity: BitMask): CPUSet {
    const { topology } = this;
    const near = topology.cpusIn('numaNode', ...nodesOf(affinity));
    return this.options['align-by-socket'] ? topology.cpusIn('socket', ...topology.idsOf('socket', near)) : near;
  }

  /** kubelet: policy_static.go takeByTopology */
  private takeByTopology(free: CPUSet, count: number): CPUSet {
    const { topology, options } = this;
    const how = {
      spreadAcrossCores: options['distribute-cpus-across-cores'],
      alignByUncoreCache: options['prefer-align-cpus-by-uncorecache'],
    };
    if (!options['distribute-cpus-across-numa']) return takeCPUs(topology, free, count, how);
    return distributeCPUs(topology, free, count, {
      ...how,
      groupSize: options['full-pcpus-only'] ? Math.max(1, topology.cpusPerCore) : 1,
    });
  }

  private chooseReserved(count: number): CPUSet {
    try {
      return this.takeByTopology(this.topology.cpus, count);
    } catch {
      // The machine has too few CPUs; the caller checks the size.
      return CPUSet.empty;
    }
  }

  private hintsFor(request: number, free: CPUSet, reusable: CPUSet): ResourceHints {
    const alignBySocket = this.options['align-by-socket'];
    return new Map([['cpu', computeCPUHints(this.topology, { request, free, reusable, alignBySocket })]]);
  }

  /** CPUs that a container can get exclusively. */
  private free(assignments: CPUAssignments): CPUSet {
    return assignments.shared.difference(this.reserved);
  }

  private checkWholeCores(assignments: CPUAssignments, request: number): void {
    const { cpusPerCore } = this.topology;
    if (request % cpusPerCore !== 0) {
      throw smtAlignmentError(`requested ${request} cpus not multiple cpus per core = ${cpusPerCore}`);
    }
    // A core with a reserved CPU cannot be allocated as a whole.
    const free = assignments.shared.difference(this.reservedCores).size;
    if (request <= free) return;
    const shortage = `available physical CPUs = ${free}, requested CPUs = ${request}, CPUs per core = ${cpusPerCore}`;
    throw smtAlignmentError(`not enough free physical CPUs: ${shortage}`);
  }

  private checkReserved(shared: CPUSet, isStrict: boolean): void {
    const reservedAndShared = this.reserved.intersection(shared);
    if (isStrict && !reservedAndShared.isEmpty) {
      const which = `"${reservedAndShared.toString()}" are present in defaultCpuSet: "${shared.toString()}"`;
      throw new Error(`some of strictly reserved cpus: ${which}`);
    }
    if (isStrict || reservedAndShared.equals(this.reserved)) return;
    const which = `"${this.reserved.toString()}" are present in defaultCpuSet: "${shared.toString()}"`;
    throw new Error(`not all reserved cpus: ${which}`);
  }

  /** kubelet: policy_options.go ValidateStaticPolicyOptions */
  private checkSocketAlignment(): void {
    if (!this.options['align-by-socket']) return;
    if (this.affinities.policyName === 'single-numa-node') {
      throw new Error(
        'Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option',
      );
    }
    if (this.topology.numSockets > this.topology.numNUMANodes) {
      throw new Error(
        'Align by socket is not compatible with hardware where number of sockets are more than number of NUMA',
      );
    }
  }
}

const nothingFits: ResourceHints = new Map([['cpu', []]]);

/** kubelet: policy_static.go SMTAlignmentError */
function smtAlignmentError(problem: string): AllocationError {
  return new AllocationError('SMTAlignmentError', `SMT Alignment Error: ${problem}`);
}

interface Request {
  /** Number of CPUs. */
  request: number;
  free: CPUSet;
  /** CPUs of the pod's init containers. Every hint must include all of them. */
  reusable: CPUSet;
  /** If true, prefers every affinity with the smallest number of sockets. */
  alignBySocket: boolean;
}

/**
 * Returns every set of NUMA nodes with enough CPUs for a request. Prefers the sets with the fewest nodes that could
 * hold it on an idle machine. kubelet: cpumanager/policy_static.go generateCPUTopologyHints
 */
function computeCPUHints(topology: CPUTopology, { request, free, reusable, alignBySocket }: Request): TopologyHint[] {
  const nodes = topology.idsOf('numaNode');
  let fewest = nodes.length;
  const affinities: BitMask[] = [];
  for (const mask of masksOf(nodes)) {
    const cpus = topology.cpusIn('numaNode', ...nodesOf(mask));
    if (cpus.size >= request) fewest = Math.min(fewest, countOf(mask));
    const isEnough = reusable.size + free.intersection(cpus).size >= request;
    if (isEnough && reusable.isSubsetOf(cpus)) affinities.push(mask);
  }
  return affinities.map((affinity) => ({
    affinity,
    preferred: countOf(affinity) === fewest || (alignBySocket && isSocketAligned(topology, affinity, fewest)),
  }));
}

/** kubelet: policy_static.go isHintSocketAligned */
function isSocketAligned(topology: CPUTopology, affinity: BitMask, fewestNodes: number): boolean {
  const nodesPerSocket = Math.floor(topology.numNUMANodes / topology.numSockets);
  const sockets = topology.idsOf('socket', topology.cpusIn('numaNode', ...nodesOf(affinity)));
  return nodesPerSocket > 0 && sockets.length === Math.ceil(fewestNodes / nodesPerSocket);
}

/**
 * CPUs that later containers of a pod can reuse from its init containers. They are separate from the assignments: they
 * stay after the init container and the pod are removed, until another pod gets CPUs. kubelet:
 * cpumanager/policy_static.go cpusToReuse
 */
class CPUsToReuse {
  /** Undefined before the first allocation. */
  private last: { podUID: string; cpus: CPUSet } | undefined;

  of({ metadata }: Pod): CPUSet {
    return this.last?.podUID === metadata.uid ? this.last.cpus : CPUSet.empty;
  }

  /**
   * Call it when a container gets CPUs, and when it is allocated again. Discards the CPUs of other pods. kubelet:
   * policy_static.go updateCPUsToReuse
   */
  update(pod: Pod, container: Container, cpus: CPUSet): void {
    const before = this.of(pod);
    const after = isRegularInit(pod.spec, container.name) ? before.union(cpus) : before.difference(cpus);
    this.last = { podUID: pod.metadata.uid, cpus: after };
  }
}
