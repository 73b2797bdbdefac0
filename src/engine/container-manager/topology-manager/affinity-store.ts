import type { TopologyHint } from './topology-hint.ts';

/** kubelet: topologymanager/policy_*.go */
export const topologyPolicies = ['none', 'best-effort', 'restricted', 'single-numa-node'] as const;
export type TopologyPolicyName = (typeof topologyPolicies)[number];

/** Affinities that the topology manager decided. kubelet: topologymanager/topology_manager.go Store */
export interface AffinityStore {
  readonly policyName: TopologyPolicyName;
  /** The container's affinity. If none was decided, any node, and not preferred. */
  affinityOf(podUID: string, containerName: string): TopologyHint;
}
