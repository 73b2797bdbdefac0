import type { Pod } from '../../api/types.ts';

/** How long pods get from the highest of these priorities that is not above their own. kubelet: ShutdownGracePeriodByPodPriority */
export interface ShutdownGracePeriod {
  priority: number;
  seconds: number;
}

export interface ShutdownSettings {
  shutdownGracePeriodSeconds: number;
  /** Part of the whole period. */
  shutdownGracePeriodCriticalPodsSeconds: number;
  /** Empty: the two periods above count. */
  byPodPriority: readonly ShutdownGracePeriod[];
}

export interface ShutdownGroup extends ShutdownGracePeriod {
  pods: Pod[];
}

/** The priority from which on pods are critical. kubelet: pkg/apis/scheduling SystemCriticalPriority */
const systemCriticalPriority = 2_000_000_000;

/** kubelet: pkg/apis/scheduling SystemPriorityClasses */
const systemPriorityClasses: ReadonlyMap<string, number> = new Map([
  ['system-cluster-critical', systemCriticalPriority],
  ['system-node-critical', systemCriticalPriority + 1000],
]);

/**
 * The pods of a node that shuts down, in the order in which groups of them are told to end. No groups: the node does not
 * wait for its pods. Where there is less time than they have together each gets its part of it.
 * kubelet: nodeshutdown_manager.go migrateConfig, groupByPriority
 */
export function computeShutdownGroups(
  pods: readonly Pod[],
  settings: ShutdownSettings,
  withinSeconds = Infinity,
): ShutdownGroup[] {
  const share = Math.min(1, withinSeconds / shutdownSeconds(settings));
  const groups = gracePeriods(settings)
    .toSorted((a, b) => a.priority - b.priority)
    .map(({ priority, seconds }): ShutdownGroup => ({ priority, seconds: seconds * share, pods: [] }));
  for (const pod of pods) {
    const priority = priorityOf(pod);
    const group = groups.findLast((candidate) => candidate.priority <= priority) ?? groups[0];
    group?.pods.push(pod);
  }
  return groups;
}

/** The time of all groups together. Zero: the node does not wait for its pods. */
export function shutdownSeconds(settings: ShutdownSettings): number {
  return gracePeriods(settings).reduce((sum, { seconds }) => sum + seconds, 0);
}

/** Without an API server nobody turns the name of a class into its number; two classes are the same everywhere. */
function priorityOf({ spec: { priority, priorityClassName = '' } }: Pod): number {
  return priority ?? systemPriorityClasses.get(priorityClassName) ?? 0;
}

function gracePeriods({
  shutdownGracePeriodSeconds: whole,
  shutdownGracePeriodCriticalPodsSeconds: critical,
  byPodPriority,
}: ShutdownSettings): readonly ShutdownGracePeriod[] {
  if (byPodPriority.length > 0) return byPodPriority;
  if (whole === 0 || whole < critical) return [];
  return [
    { priority: 0, seconds: whole - critical },
    { priority: systemCriticalPriority, seconds: critical },
  ];
}
