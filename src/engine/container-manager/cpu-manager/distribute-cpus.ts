import type { CPUSet } from '../cpu-topology/cpu-set.ts';
import type { CPUTopology } from '../cpu-topology/cpu-topology.ts';
import { checkEnough, orderedNUMANodes, takeCPUs, type TakeOptions } from './cpu-accumulator.ts';

interface DistributeOptions extends TakeOptions {
  /** Each node contributes a multiple of this number of CPUs. */
  groupSize: number;
}

/** Free CPUs by NUMA node. */
type FreeByNode = ReadonlyMap<number, number>;

/** An even split of a request among NUMA nodes. */
interface Split {
  /** NUMA nodes of the split. */
  nodes: readonly number[];
  /** CPUs from each node. */
  share: number;
  /** CPUs beyond the equal shares. */
  remainder: number;
  /** Nodes that provide the remainder, one group per round. */
  remainderNodes: readonly number[];
  /** Imbalance of free CPUs after the allocation. Lower is better. */
  imbalance: number;
}

/**
 * Chooses CPUs evenly from as few NUMA nodes as possible, so that all nodes keep a similar number of free CPUs. Packs
 * them if no split is possible. Throws an `Error` if fewer CPUs are free. kubelet: cpumanager/cpu_assignment.go
 * takeByTopologyNUMADistributed
 */
export function distributeCPUs(
  topology: CPUTopology,
  free: CPUSet,
  count: number,
  { groupSize, ...options }: DistributeOptions,
): CPUSet {
  checkEnough(topology, free, count);
  const split = count % groupSize === 0 ? computeSplit(topology, free, count, groupSize) : undefined;
  if (split === undefined) return takeCPUs(topology, free, count, options);
  const freeIn = (node: number, taken: CPUSet): CPUSet =>
    topology.cpusIn('numaNode', node).intersection(free).difference(taken);
  let taken = free.filter(() => false);
  const take = (node: number, size: number): void => {
    const left = freeIn(node, taken);
    if (size <= left.size) taken = taken.union(takeCPUs(topology, left, size, options));
  };
  for (const node of split.nodes) take(node, split.share);
  for (let left = split.remainder; left > 0;) {
    const able = split.remainderNodes.filter((node) => freeIn(node, taken).size >= groupSize);
    const some = able.slice(0, left / groupSize);
    // The kubelet would loop forever here.
    if (some.length === 0) break;
    for (const node of some) take(node, groupSize);
    left -= some.length * groupSize;
  }
  if (taken.size === count) return taken;
  throw new Error(`accounting error, not enough CPUs allocated, remaining: ${count - taken.size}`);
}

/** The best split among the smallest number of nodes that allows one. */
function computeSplit(topology: CPUTopology, free: CPUSet, count: number, groupSize: number): Split | undefined {
  if (count < 1) return undefined;
  const nodes = orderedNUMANodes(topology, free);
  const freeByNode = new Map(
    nodes.map((node) => [node, topology.cpusIn('numaNode', node).intersection(free).size] as const),
  );
  const [fewest, most] = usefulNodeCounts(topology, nodes.length, count, groupSize);
  for (let size = fewest; size <= most; size++) {
    let best: Split | undefined;
    for (const some of combinations(nodes, size)) {
      // No other split can be better.
      if (best?.imbalance === 0) break;
      const split = splitOver(some, freeByNode, count, groupSize);
      if (split !== undefined && split.imbalance < (best?.imbalance ?? Infinity)) best = split;
    }
    if (best !== undefined) return best;
  }
  return undefined;
}

/** kubelet: cpu_assignment.go rangeNUMANodesNeededToSatisfy */
function usefulNodeCounts(
  topology: CPUTopology,
  freeNodes: number,
  count: number,
  groupSize: number,
): [number, number] {
  const groups = Math.ceil(count / groupSize);
  const groupsOfMachine = Math.ceil(topology.cpus.size / groupSize);
  const groupsPerNode = Math.ceil(groupsOfMachine / topology.numNUMANodes);
  return [Math.ceil(groups / groupsPerNode), Math.min(groups, freeNodes)];
}

/** Splits the request among these nodes. Returns undefined if one of them has too few CPUs for its share. */
function splitOver(
  nodes: readonly number[],
  freeByNode: FreeByNode,
  count: number,
  groupSize: number,
): Split | undefined {
  const freeOf = (node: number): number => freeByNode.get(node) ?? 0;
  const groups = sum(nodes.map((node) => Math.floor(freeOf(node) / groupSize)));
  const share = Math.floor(count / nodes.length / groupSize) * groupSize;
  if (groups * groupSize < count || nodes.some((node) => freeOf(node) < share)) return undefined;
  const after = new Map(freeByNode);
  for (const node of nodes) after.set(node, freeOf(node) - share);
  const remainder = count - share * nodes.length;
  if (remainder === 0) return { nodes, share, remainder, remainderNodes: [], imbalance: imbalanceOf(after) };
  const remaining = bestRemainder(nodes, after, remainder, groupSize);
  return remaining && { nodes, share, remainder, ...remaining };
}

/** Chooses the nodes that provide the remainder with the smallest imbalance. Tries larger sets first. */
function bestRemainder(
  nodes: readonly number[],
  free: FreeByNode,
  remainder: number,
  groupSize: number,
): Pick<Split, 'remainderNodes' | 'imbalance'> | undefined {
  const able = nodes.filter((node) => (free.get(node) ?? 0) >= groupSize);
  let best: Pick<Split, 'remainderNodes' | 'imbalance'> | undefined;
  for (let size = able.length; size >= 1; size--) {
    for (const remainderNodes of combinations(able, size)) {
      const after = withoutRemainder(remainderNodes, free, remainder, groupSize);
      if (after === undefined) continue;
      const imbalance = imbalanceOf(after);
      if (imbalance < (best?.imbalance ?? Infinity)) best = { remainderNodes, imbalance };
    }
  }
  return best;
}

/** Free CPUs after the nodes provided the remainder. Returns undefined if they have too few whole groups. */
function withoutRemainder(
  nodes: readonly number[],
  free: FreeByNode,
  remainder: number,
  groupSize: number,
): FreeByNode | undefined {
  const after = new Map(free);
  for (let missing = remainder; missing > 0;) {
    const able = nodes.filter((node) => (after.get(node) ?? 0) >= groupSize);
    if (able.length === 0) return undefined;
    for (const node of able.slice(0, missing / groupSize)) {
      after.set(node, (after.get(node) ?? 0) - groupSize);
      missing -= groupSize;
    }
  }
  return after;
}

/**
 * Standard deviation rounded to three digits, as the kubelet compares it. kubelet: cpu_assignment.go standardDeviation
 */
function imbalanceOf(free: FreeByNode): number {
  const counts = [...free.values()];
  const mean = toThousandths(sum(counts) / counts.length);
  return toThousandths(Math.sqrt(sum(counts.map((count) => (count - mean) ** 2)) / counts.length));
}

const toThousandths = (value: number): number => Math.round(value * 1000) / 1000;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Every combination of `size` values, in order. kubelet: cpu_assignment.go iterateCombinations */
function* combinations(values: readonly number[], size: number): Generator<readonly number[]> {
  if (size === 0) {
    yield [];
    return;
  }
  for (const [index, first] of values.entries()) {
    for (const rest of combinations(values.slice(index + 1), size - 1)) yield [first, ...rest];
  }
}
