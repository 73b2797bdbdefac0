import { type BitMask, bitMask, countOf, isNarrower, nodesOf } from './bit-mask.ts';

/** A NUMA node of the machine. */
export interface NUMANode {
  readonly id: number;
  /** Distances to all nodes, in the order of the nodes. Undefined if the kernel does not report them. */
  readonly distances?: readonly number[] | undefined;
}

/** True if `one` is better than `other`. Both are masks of the machine's nodes. */
export type IsBetterMask = (one: BitMask, other: BitMask) => boolean;

/** Fewer nodes are better, then lower numbers. */
export const narrowest: IsBetterMask = isNarrower;

/**
 * Fewer nodes are better, then nearer ones, then lower numbers.
 * kubelet: topologymanager/numa_info.go Closest
 */
export function closest(nodes: readonly NUMANode[]): IsBetterMask {
  const position = new Map(nodes.map(({ id }, index) => [id, index]));
  const distances = new Map(nodes.map(({ id, distances: own }) => [id, own ?? []]));
  const averageDistance = (mask: BitMask): number => {
    const ids = nodesOf(mask);
    const all = ids.flatMap((from) => ids.map((to) => distances.get(from)?.[position.get(to) ?? -1] ?? 0));
    return all.reduce((sum, distance) => sum + distance, 0) / all.length;
  };
  return (one, other) => {
    if (countOf(one) !== countOf(other)) return isNarrower(one, other);
    const [distance, otherDistance] = [averageDistance(one), averageDistance(other)];
    return distance === otherDistance ? isNarrower(one, other) : distance < otherDistance;
  };
}

/** The mask of all nodes. kubelet: topologymanager/numa_info.go DefaultAffinityMask */
export function maskOfAll(nodes: readonly NUMANode[]): BitMask {
  return bitMask(nodes.map(({ id }) => id));
}
