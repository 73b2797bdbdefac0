import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';

/** A pod to measure, and its running containers. */
export interface StatsPod {
  uid: string;
  name: string;
  namespace: string;
  /** Milliseconds since the epoch, like every `…At`. */
  startedAt: number;
  sandboxID: string;
  /** False for a pod in the node's network. */
  hasNetwork: boolean;
  /** Sorted by name. */
  containers: { id: string; name: string; startedAt: number }[];
}

/**
 * Returns the pods with a ready sandbox or a running container, sorted by namespace and name. kubelet:
 * stats/cri_stats_provider.go listPodStatsPartiallyFromCRI
 */
export function statsPods(statuses: readonly RuntimePodStatus[]): StatsPod[] {
  return statuses.flatMap(statsPod).sort((a, b) => compare(a.namespace, b.namespace) || compare(a.name, b.name));
}

function statsPod({ uid, name, namespace, sandboxStatuses, containerStatuses }: RuntimePodStatus): StatsPod[] {
  const running = containerStatuses.filter(({ state }) => state === 'running');
  const sandbox = sandboxStatuses.find(({ state }) => state === 'ready') ?? sandboxStatuses[0];
  if (sandbox === undefined || (sandbox.state !== 'ready' && running.length === 0)) return [];
  const containers = running
    .map(({ id, name: container, startedAt, createdAt }) => ({
      id,
      name: container,
      startedAt: startedAt || createdAt,
    }))
    .sort((a, b) => compare(a.name, b.name));
  const hasNetwork = sandbox.networkMode === 'pod';
  return [{ uid, name, namespace, startedAt: sandbox.createdAt, sandboxID: sandbox.id, hasNetwork, containers }];
}

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
