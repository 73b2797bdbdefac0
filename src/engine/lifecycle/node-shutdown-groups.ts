import type { Pod } from '../../api/types.ts';
import { podPriority, systemCriticalPriority } from '../../api/values/pod-priority.ts';

/**
 * Grace period of pods with this priority or higher, up to the next entry. kubelet: ShutdownGracePeriodByPodPriority
 */
export interface ShutdownGracePeriod {
  priority: number;
  seconds: number;
}

export interface ShutdownSettings {
  shutdownGracePeriodSeconds: number;
  /** The part of the whole period that is for critical pods. */
  shutdownGracePeriodCriticalPodsSeconds: number;
  /** If empty, the two periods above are used. */
  byPodPriority: readonly ShutdownGracePeriod[];
}

export interface ShutdownGroup extends ShutdownGracePeriod {
  pods: Pod[];
}

/**
 * Groups the pods of a node that shuts down, in stop order. Without groups the node does not wait for pods. If there is
 * less time than the groups need, each gets a proportional share. kubelet: nodeshutdown_manager.go migrateConfig,
 * groupByPriority
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
    const priority = podPriority(pod);
    const group = groups.findLast((candidate) => candidate.priority <= priority) ?? groups[0];
    group?.pods.push(pod);
  }
  return groups;
}

/** Total time of all groups. 0 means that the node does not wait for its pods. */
export function shutdownSeconds(settings: ShutdownSettings): number {
  return gracePeriods(settings).reduce((sum, { seconds }) => sum + seconds, 0);
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
