import type { Container, Pod } from '../../../api/types.ts';
import type { ContainerKillReason } from './pod-actions.ts';

/** Minimum grace period, so that every container gets its stop signal before it is killed. */
export const MINIMUM_GRACE_PERIOD_SECONDS = 2;
/** The maximum duration in Go, 292 years. Runtimes are written in Go and reject longer ones. */
export const maxGracePeriodSeconds = 9_223_372_036;

/**
 * Grace period of a container in seconds. Its preStop hook, the wait for earlier containers and the runtime's
 * StopContainer share it. `overrideSeconds` has precedence. kubelet: kuberuntime_container.go killContainer,
 * setTerminationGracePeriod
 */
export function containerGracePeriodSeconds(
  pod: Pod,
  container: Container | undefined,
  reason: ContainerKillReason,
  overrideSeconds?: number,
): number {
  if (overrideSeconds !== undefined) return overrideSeconds;
  if (pod.metadata.deletionGracePeriodSeconds !== undefined) return pod.metadata.deletionGracePeriodSeconds;
  // A probe's grace period counts only if the pod has one.
  if (pod.spec.terminationGracePeriodSeconds === undefined) return MINIMUM_GRACE_PERIOD_SECONDS;
  return probeGracePeriodSeconds(container, reason) ?? pod.spec.terminationGracePeriodSeconds;
}

/** Remaining grace period after `elapsedMs`, in whole seconds and at least the minimum. */
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
