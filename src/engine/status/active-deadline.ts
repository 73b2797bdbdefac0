import type { Pod } from '../../api/types.ts';

/**
 * True if the pod has been active for longer than its activeDeadlineSeconds. `startTime` is that of its status. `since`
 * returns the milliseconds since a time. kubelet: active_deadline.go pastActiveDeadline
 */
export function isPastActiveDeadline(
  pod: Pod,
  startTime: string | undefined,
  since: (stamp: number) => number,
): boolean {
  const { activeDeadlineSeconds } = pod.spec;
  if (activeDeadlineSeconds === undefined || startTime === undefined) return false;
  return since(Date.parse(startTime)) >= activeDeadlineSeconds * 1000;
}

/** A sync that began just before the deadline misses it. Within this time after the deadline, another sync is due. */
const justPastMs = 1000;

/**
 * Milliseconds until the pod's deadline after `activeMs`, at least 1. Returns undefined if it has none or is past it.
 */
export function activeDeadlineLeftMs({ spec }: Pod, activeMs: number): number | undefined {
  if (spec.activeDeadlineSeconds === undefined) return undefined;
  const leftMs = spec.activeDeadlineSeconds * 1000 - activeMs;
  return leftMs > -justPastMs ? Math.max(1, leftMs) : undefined;
}
