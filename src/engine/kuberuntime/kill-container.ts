import type { Pod } from '../../api/types.ts';
import { isNotFound } from '../../cri/errors.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { PodEventRecorder } from '../event-recorder.ts';
import { reasons } from '../reasons.ts';
import type { ContainerKillReason } from './pod-actions.ts';
import { containerGracePeriodSeconds, MINIMUM_GRACE_PERIOD_SECONDS } from './termination-grace-period.ts';

export interface ContainerKill {
  containerID: string;
  name: string;
  /** For the Killing event; empty: a general one. */
  message: string;
  reason: ContainerKillReason;
  /** Seconds; replaces the pod's own. */
  gracePeriodOverride?: number;
}

/**
 * Stops one container and waits for it. A container that is gone counts as stopped.
 * kubelet: kuberuntime_container.go killContainer
 */
export async function killContainer(
  runtime: RuntimeService,
  pod: Pod,
  { containerID, name, message, reason, gracePeriodOverride }: ContainerKill,
  recorder: PodEventRecorder,
): Promise<void> {
  const container = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find((other) => other.name === name);
  const gracePeriodSeconds = containerGracePeriodSeconds(pod, container, reason, gracePeriodOverride);
  recorder.normal(reasons.killing, message === '' ? `Stopping container ${name}` : message, name);
  try {
    await runtime.stopContainer({
      containerId: containerID,
      timeout: Math.max(gracePeriodSeconds, MINIMUM_GRACE_PERIOD_SECONDS),
    });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
