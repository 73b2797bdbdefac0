import { type BitMask, countOf } from './bit-mask.ts';
import type { IsBetterMask } from './numa-info.ts';
import type { ResourceHints, TopologyHint } from './topology-hint.ts';

interface Merge {
  /** Mask of all nodes of the machine. */
  allNodes: BitMask;
  isBetter: IsBetterMask;
}

/** A hint with specific nodes. */
type Affinity = TopologyHint & { readonly affinity: BitMask };

/**
 * One list of hints per resource of each provider. A resource without preference accepts any node. kubelet:
 * topologymanager/policy.go filterProvidersHints
 */
export function hintLists(
  providersHints: readonly (ResourceHints | undefined)[],
): (readonly [TopologyHint, ...TopologyHint[]])[] {
  const anyNodes = [{ affinity: undefined, preferred: true }] as const;
  return providersHints.flatMap((hints) => {
    if (hints === undefined || hints.size === 0) return [anyNodes];
    return [...hints.values()].map((list) => {
      if (list === undefined) return anyNodes;
      const [first, ...others] = list;
      return first === undefined ? ([{ affinity: undefined, preferred: false }] as const) : [first, ...others];
    });
  });
}

/**
 * The best combination of one hint per list: a preferred one, or else one with the number of nodes that the most
 * demanding resource needs. If there is none, all nodes and not preferred. kubelet: topologymanager/policy.go Merge
 */
export function mergeHints(lists: readonly (readonly TopologyHint[])[], { allNodes, isBetter }: Merge): Affinity {
  const wantedCount = Math.max(0, ...lists.map(smallestCount));
  let best: Affinity | undefined;
  for (const merged of combinations(lists, allNodes)) {
    if (merged.affinity === 0n) continue;
    if (best === undefined || replaces(best, merged, wantedCount, isBetter)) best = merged;
  }
  return best ?? { affinity: allNodes, preferred: false };
}

/** The minimum number of nodes that a resource needs. kubelet: topologymanager/policy.go maxOfMinAffinityCounts */
function smallestCount(list: readonly TopologyHint[]): number {
  const counts = list.flatMap(({ affinity }) => (affinity === undefined ? [] : [countOf(affinity)]));
  return counts.length === 0 ? 0 : Math.min(...counts);
}

/** The result of merging some of the lists. */
interface Merged extends Affinity {
  /** The affinity that all hints so far share, if they are equal. */
  readonly common: BitMask | undefined;
}

/**
 * For every combination of hints, the nodes that all its hints share: each distinct result once, in the kubelet's
 * order. The kubelet iterates over all combinations, which can be millions for 3 resources on 8 nodes. A combination is
 * preferred if all its hints are preferred and have the same affinity. kubelet: topologymanager/policy.go
 * mergePermutation, iterateAllProviderTopologyHints
 */
function combinations(lists: readonly (readonly TopologyHint[])[], allNodes: BitMask): Merged[] {
  let merged: Merged[] = [{ affinity: allNodes, preferred: true, common: undefined }];
  for (const list of lists) {
    const byResult = new Map<string, Merged>();
    for (const before of merged) {
      for (const hint of list) {
        const next = withHint(before, hint);
        const result = `${next.affinity} ${next.preferred} ${next.common}`;
        if (!byResult.has(result)) byResult.set(result, next);
      }
    }
    merged = [...byResult.values()];
  }
  return merged;
}

function withHint(before: Merged, { affinity, preferred }: TopologyHint): Merged {
  if (affinity === undefined) {
    const isPreferred = before.preferred && preferred;
    return { ...before, preferred: isPreferred, common: isPreferred ? before.common : undefined };
  }
  const isPreferred = before.preferred && preferred && (before.common ?? affinity) === affinity;
  return { affinity: before.affinity & affinity, preferred: isPreferred, common: isPreferred ? affinity : undefined };
}

/** True if the candidate is better than the best so far. kubelet: topologymanager/policy.go compare */
function replaces(best: Affinity, candidate: Affinity, wantedCount: number, isBetter: IsBetterMask): boolean {
  if (best.preferred !== candidate.preferred) return candidate.preferred;
  const suitsBetter = isBetter(candidate.affinity, best.affinity);
  if (best.preferred) return suitsBetter;
  const [bestCount, candidateCount] = [countOf(best.affinity), countOf(candidate.affinity)];
  if (bestCount > wantedCount) return suitsBetter;
  // More nodes are better up to the wanted number.
  if (candidateCount > wantedCount) return false;
  return candidateCount === bestCount ? suitsBetter : candidateCount > bestCount;
}
