import type { TopologyHint } from './topology-hint.ts';

/** kubelet: topologymanager/policy_*.go */
export const topologyPolicies = ['none', 'best-effort', 'restricted', 'single-numa-node'] as const;
export type TopologyPolicyName = (typeof topologyPolicies)[number];

/** Affinities as the topology manager decided them. kubelet: topologymanager/topology_manager.go Store */
export interface AffinityStore {
  readonly policyName: TopologyPolicyName;
  /** The container's affinity. Any node, and not preferred, if none was decided. */
  affinityOf(podUID: string, containerName: string): TopologyHint;
}
