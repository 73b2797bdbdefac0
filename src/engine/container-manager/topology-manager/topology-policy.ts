import type { TopologyPolicyName } from './affinity-store.ts';
import { countOf } from './bit-mask.ts';
import { hintLists, mergeHints } from './merge-hints.ts';
import { closest, maskOfAll, narrowest, type NUMANode } from './numa-info.ts';
import type { ResourceHints, TopologyHint } from './topology-hint.ts';

/** The affinity of a container or pod, and whether it is admitted. */
export interface TopologyDecision {
  affinity: TopologyHint;
  admit: boolean;
}

/** Decides from the hints of all providers. kubelet: topologymanager/policy.go Policy */
export type TopologyPolicy = (providersHints: readonly (ResourceHints | undefined)[]) => TopologyDecision;

interface Machine {
  nodes: readonly NUMANode[];
  preferClosestNUMA: boolean;
}

/**
 * Returns the policy with this name. kubelet: topologymanager/policy_best_effort.go, policy_restricted.go,
 * policy_single_numa_node.go
 */
export function topologyPolicy(
  name: Exclude<TopologyPolicyName, 'none'>,
  { nodes, preferClosestNUMA }: Machine,
): TopologyPolicy {
  const merge = { allNodes: maskOfAll(nodes), isBetter: preferClosestNUMA ? closest(nodes) : narrowest };
  switch (name) {
    case 'best-effort':
      return (hints) => ({ affinity: mergeHints(hintLists(hints), merge), admit: true });
    case 'restricted':
      return (hints) => {
        const affinity = mergeHints(hintLists(hints), merge);
        return { affinity, admit: affinity.preferred };
      };
    case 'single-numa-node':
      return (hints) => {
        const { affinity, preferred } = mergeHints(hintLists(hints).map(onOneNode), merge);
        // All nodes means that no resource has a preference. On a machine with one node, that node is all nodes.
        return {
          affinity: { affinity: affinity === merge.allNodes ? undefined : affinity, preferred },
          admit: preferred,
        };
      };
  }
}

/** kubelet: topologymanager/policy_single_numa_node.go filterSingleNumaHints */
function onOneNode(list: readonly TopologyHint[]): TopologyHint[] {
  return list.filter(({ affinity, preferred }) => preferred && (affinity === undefined || countOf(affinity) === 1));
}
