import type { PodStatus } from '../../api/types.ts';
import { formatTime } from './format-time.ts';

/**
 * Gives a new status its times: the start time never changes, the transition time of a condition only with its status.
 * kubelet: status/status_manager.go updateStatusInternal
 */
export function stampStatus(status: PodStatus, oldStatus: PodStatus | undefined, now: number): PodStatus {
  const conditions = status.conditions?.map((condition) => {
    const oldCondition = oldStatus?.conditions?.find(({ type }) => type === condition.type);
    const unchangedSince = oldCondition?.status === condition.status ? oldCondition.lastTransitionTime : undefined;
    return { ...condition, lastTransitionTime: unchangedSince ?? formatTime(now) };
  });
  return {
    ...status,
    ...(conditions && { conditions }),
    startTime: oldStatus?.startTime ?? status.startTime ?? formatTime(now),
  };
}
