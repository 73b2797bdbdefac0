import type { Pod } from '../../api/types.ts';

/**
 * True once the pod has been active for longer than its activeDeadlineSeconds. `startTime` is that of its status,
 * `now` in milliseconds since the epoch. kubelet: active_deadline.go pastActiveDeadline
 */
export function isPastActiveDeadline(pod: Pod, startTime: string | undefined, now: number): boolean {
  const { activeDeadlineSeconds } = pod.spec;
  if (activeDeadlineSeconds === undefined || startTime === undefined) return false;
  return now - Date.parse(startTime) >= activeDeadlineSeconds * 1000;
}
