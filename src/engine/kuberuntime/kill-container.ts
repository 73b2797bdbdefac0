import type { Container, Pod } from '../../api/types.ts';
import { unlessNotFound } from '../../cri/errors.ts';
import { withTimeout } from '../../flow/with-timeout.ts';
import type { PodEventRecorder } from '../view/event-recorder.ts';
import { type HookDeps, runHook } from './run-hook.ts';
import { reasons } from '../view/reasons.ts';
import type { ContainerKillReason } from './actions/pod-actions.ts';
import {
  containerGracePeriodSeconds,
  maxGracePeriodSeconds,
  MINIMUM_GRACE_PERIOD_SECONDS,
  remainingGracePeriodSeconds,
} from './actions/termination-grace-period.ts';

export interface ContainerKill {
  containerID: string;
  name: string;
  /** Message of the Killing event. Defaults to `Stopping container NAME`. */
  message?: string;
  reason?: ContainerKillReason;
  /** Grace period in seconds that replaces the pod's. */
  gracePeriodOverride?: number | undefined;
  /** Addresses of the pod, for the preStop hook. */
  podIPs: readonly string[];
  /** Waits for containers that must stop first, for at most the grace period. */
  turn?: (() => Promise<unknown>) | undefined;
}

/**
 * Stops one container and waits for it. Its preStop hook, the wait for earlier containers and the runtime's
 * StopContainer share one grace period. A missing container counts as stopped. kubelet: kuberuntime_container.go
 * killContainer
 */
export async function killContainer(
  deps: HookDeps,
  pod: Pod,
  kill: ContainerKill,
  recorder: PodEventRecorder,
): Promise<void> {
  const { runtime, clock } = deps;
  const { containerID, name, message = `Stopping container ${name}`, reason = '', gracePeriodOverride, turn } = kill;
  const container = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find((other) => other.name === name);
  let graceSeconds = containerGracePeriodSeconds(pod, container, reason, gracePeriodOverride);
  recorder.normal(reasons.killing, message, name);
  const graceEnd = new AbortController();
  for (const wait of [preStopHook(deps, container, kill, recorder, graceEnd.signal), turn]) {
    if (wait === undefined || graceSeconds <= 0) continue;
    const startedAtMonotonic = clock.monotonic();
    // Neither promise rejects, so a rejection means that the grace period is over.
    await withTimeout(clock, graceSeconds * 1000, wait()).catch(() => {
      graceEnd.abort(new Error('the grace period is over'));
    });
    graceSeconds = remainingGracePeriodSeconds(graceSeconds, clock.monotonic() - startedAtMonotonic);
  }
  const timeout = Math.min(Math.max(graceSeconds, MINIMUM_GRACE_PERIOD_SECONDS), maxGracePeriodSeconds);
  await unlessNotFound(runtime.stopContainer({ containerId: containerID, timeout }));
}

/**
 * A failed hook does not prevent the stop. A request is aborted when the grace period is over, because a silent server
 * would keep it open forever. A command exits with its container. kubelet: kuberuntime_container.go executePreStopHook
 */
function preStopHook(
  deps: HookDeps,
  container: Container | undefined,
  { containerID, podIPs }: ContainerKill,
  recorder: PodEventRecorder,
  graceEnd: AbortSignal,
): (() => Promise<void>) | undefined {
  const hook = container?.lifecycle?.preStop;
  if (container === undefined || hook === undefined) return undefined;
  const signal = hook.httpGet === undefined ? new AbortController().signal : graceEnd;
  return () =>
    runHook(deps, hook, { container, containerID, podIPs, signal }).catch(() => {
      if (signal.aborted) return;
      recorder.warning(reasons.failedPreStopHook, 'PreStopHook failed', container.name);
    });
}
