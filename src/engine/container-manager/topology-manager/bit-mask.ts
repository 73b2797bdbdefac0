/**
 * A set of NUMA nodes: bit n stands for node n. A bigint, because numbers of nodes go up to 63. kubelet:
 * topologymanager/bitmask/bitmask.go
 */
export type BitMask = bigint;

/** The kubelet's masks support no higher node number. */
export const maxNUMANode = 63;

/** Returns the mask of these nodes. Throws a `RangeError` unless every number is from 0 to 63. */
export function bitMask(nodes: Iterable<number>): BitMask {
  let mask = 0n;
  for (const node of nodes) {
    if (!Number.isInteger(node) || node < 0 || node > maxNUMANode) {
      throw new RangeError(`bit number must be in range 0-${maxNUMANode}`);
    }
    mask |= 1n << BigInt(node);
  }
  return mask;
}

/** Numbers of the nodes, ascending. */
export function nodesOf(mask: BitMask): number[] {
  const nodes: number[] = [];
  for (let node = 0, rest = mask; rest > 0n; node++, rest >>= 1n) if ((rest & 1n) === 1n) nodes.push(node);
  return nodes;
}

/** Number of nodes in the mask. */
export function countOf(mask: BitMask): number {
  let count = 0;
  // Each round clears the lowest bit.
  for (let rest = mask; rest > 0n; rest &= rest - 1n) count++;
  return count;
}

/** True if every node of `part` is in `mask`. */
export function includesMask(mask: BitMask, part: BitMask): boolean {
  return (mask & part) === part;
}

/**
 * True if `one` has fewer nodes than `other`, or as many nodes with lower numbers. kubelet: bitmask.go IsNarrowerThan
 */
export function isNarrower(one: BitMask, other: BitMask): boolean {
  const [count, otherCount] = [countOf(one), countOf(other)];
  return count === otherCount ? one < other : count < otherCount;
}

/**
 * Every non-empty mask of these nodes: smaller masks first, then in the order of `nodes`. There are 2^n - 1 of them.
 * kubelet: bitmask.go IterateBitMasks
 */
export function* masksOf(nodes: readonly number[]): Generator<BitMask> {
  for (let size = 1; size <= nodes.length; size++) yield* masksOfSize(nodes, size, 0n);
}

function* masksOfSize(nodes: readonly number[], size: number, chosen: BitMask): Generator<BitMask> {
  if (size === 0) {
    yield chosen;
    return;
  }
  for (const [index, node] of nodes.slice(0, nodes.length - size + 1).entries()) {
    yield* masksOfSize(nodes.slice(index + 1), size - 1, chosen | bitMask([node]));
  }
}
