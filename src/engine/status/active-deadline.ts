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

/** Milliseconds until the pod's deadline after `activeMs`. Returns undefined if it has none or is past it. */
export function activeDeadlineLeftMs({ spec }: Pod, activeMs: number): number | undefined {
  const leftMs = (spec.activeDeadlineSeconds ?? 0) * 1000 - activeMs;
  return leftMs > 0 ? leftMs : undefined;
}
