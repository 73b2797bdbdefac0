import type { ContainerStats, NodeStats, PodStats, VolumeStats } from '../stats/summary.ts';

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
  containers: Pick<ContainerStats, 'name' | 'memory' | 'rootfs' | 'logs'>[];
}

/** Returns the summary with newer volume usage, given by pod UID. */
export function withVolumes(
  { node, pods }: NodeSummary,
  measured: ReadonlyMap<string, readonly VolumeStats[]>,
): NodeSummary {
  const listed = new Set(pods.map(({ podRef }) => podRef.uid));
  const unlisted = [...measured.keys()].filter((uid) => !listed.has(uid));
  return {
    node,
    pods: [...pods, ...unlisted.map((uid): PodUsage => ({ podRef: { uid }, containers: [] }))].map((pod) => {
      const newer = measured.get(pod.podRef.uid) ?? [];
      const names = new Set(newer.map(({ name }) => name));
      const others = (pod.volume ?? []).filter(({ name }) => !names.has(name));
      return newer.length === 0 ? pod : { ...pod, volume: [...others, ...newer] };
    }),
  };
}
