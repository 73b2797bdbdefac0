import type { PodStatus } from '../types.ts';

/** True if the status has a condition of this type whose status is `True`. */
export function isConditionTrue(status: PodStatus | undefined, type: string): boolean {
  return (status?.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');
}

/** kubelet: api/v1/pod/util.go IsPodReadyConditionTrue */
export function isPodReady(status: PodStatus | undefined): boolean {
  return isConditionTrue(status, 'Ready');
}

/** True if the pod serves its purpose: it is Ready, or it has completed and will never become Ready again. */
export function isReadyOrDone(status: PodStatus | undefined): boolean {
  return isPodReady(status) || status?.phase === 'Succeeded';
}
