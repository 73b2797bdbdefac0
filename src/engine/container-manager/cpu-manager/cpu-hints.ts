import type { CPUSet } from '../cpu-topology/cpu-set.ts';
import type { CPUTopology } from '../cpu-topology/cpu-topology.ts';
import { type BitMask, countOf, masksOf, nodesOf } from '../topology-manager/bit-mask.ts';
import type { TopologyHint } from '../topology-manager/topology-hint.ts';

interface Request {
  /** Number of CPUs. */
  request: number;
  free: CPUSet;
  /** CPUs of the pod's init containers. Every hint must have all of them. */
  reusable: CPUSet;
  /** True: every affinity of as few sockets as possible is preferred. */
  alignBySocket: boolean;
}

/**
 * Every set of NUMA nodes that has the CPUs of a request. Those of the fewest nodes that could ever hold it are
 * preferred. kubelet: cpumanager/policy_static.go generateCPUTopologyHints
 */
export function computeCPUHints(
  topology: CPUTopology,
  { request, free, reusable, alignBySocket }: Request,
): TopologyHint[] {
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
