import type { ContainerStats, NodeStats, PodStats } from '../stats/summary.ts';

/** The parts of a `Summary` that eviction reads. */
export interface NodeSummary {
  node: Pick<NodeStats, 'memory' | 'fs' | 'runtime' | 'rlimit'> & {
    /** The entry `pods` is the usage of all pods. */
    systemContainers?: Pick<ContainerStats, 'name' | 'memory'>[];
  };
  pods: PodUsage[];
}

export interface PodUsage extends Pick<PodStats, 'memory' | 'volume' | 'ephemeral-storage' | 'process_stats'> {
  podRef: { uid: string };
  containers: Pick<ContainerStats, 'name' | 'rootfs' | 'logs'>[];
}
