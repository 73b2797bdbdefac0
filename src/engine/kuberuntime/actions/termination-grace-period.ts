import type { Container, Pod } from '../../../api/types.ts';
import type { ContainerKillReason } from './pod-actions.ts';

/** No container gets less, so that it hears of its end before it is killed. */
export const MINIMUM_GRACE_PERIOD_SECONDS = 2;

/**
 * Seconds a container of the pod gets to stop, for its preStop hook, its turn and the runtime's StopContainer together.
 * `overrideSeconds` wins over everything. kubelet: kuberuntime_container.go killContainer, setTerminationGracePeriod
 */
export function containerGracePeriodSeconds(
  pod: Pod,
  container: Container | undefined,
  reason: ContainerKillReason,
  overrideSeconds?: number,
): number {
  if (overrideSeconds !== undefined) return overrideSeconds;
  if (pod.metadata.deletionGracePeriodSeconds !== undefined) return pod.metadata.deletionGracePeriodSeconds;
  // A probe's own grace period counts only beside one of the pod.
  if (pod.spec.terminationGracePeriodSeconds === undefined) return MINIMUM_GRACE_PERIOD_SECONDS;
  return probeGracePeriodSeconds(container, reason) ?? pod.spec.terminationGracePeriodSeconds;
}

/** What is left of a grace period after `elapsedMs`: only whole seconds are taken off, and never below the minimum. */
export function remainingGracePeriodSeconds(gracePeriodSeconds: number, elapsedMs: number): number {
  return Math.max(gracePeriodSeconds - Math.floor(elapsedMs / 1000), MINIMUM_GRACE_PERIOD_SECONDS);
}

function probeGracePeriodSeconds(container: Container | undefined, reason: ContainerKillReason): number | undefined {
  switch (reason) {
    case 'LivenessProbe':
      return container?.livenessProbe?.terminationGracePeriodSeconds;
    case 'StartupProbe':
      return container?.startupProbe?.terminationGracePeriodSeconds;
    case 'Unknown':
    case '':
      return undefined;
  }
}
