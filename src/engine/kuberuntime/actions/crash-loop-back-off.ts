import { formatDurationMs } from '../../../api/values/duration.ts';
import { maxRestartPeriodMs } from '../../../api/values/max-restart-period.ts';
import type { Container, Pod } from '../../../api/types.ts';
import { type BackOff, type BackOffLimits, defaultBackOffLimits } from '../../../flow/back-off.ts';
import { formatPod } from '../../../api/values/pod-names.ts';
import type { WallClockHistory } from '../../../flow/wall-clock-history.ts';
import { containerHash } from '../../container/container-hash.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../container/runtime-pod-status.ts';

/** The newest finished run of a container, which determines its back-off. */
export interface FinishedRun {
  /** Key of the back-off. */
  key: string;
  endedAtMonotonic: number;
  /** Maximum delay from the pod's annotation. */
  maxMs: number | undefined;
  /** Start of the run, and the restart count in the runtime. Zero restarts if its whole sandbox stopped. */
  earlier: { restarts: number; atMonotonic: number };
}

/** Returns undefined if no run of the container has finished. */
export function finishedRun(
  wallClock: Pick<WallClockHistory, 'monotonicAt'>,
  pod: Pod,
  container: Container,
  podStatus: RuntimePodStatus,
): FinishedRun | undefined {
  const exited = podStatus.containerStatuses.find(({ name, state }) => name === container.name && hasEnded(state));
  // A run with another definition does not count.
  if (exited?.hash !== containerHash(container)) return undefined;
  return {
    key: stableKey(pod, container),
    endedAtMonotonic: wallClock.monotonicAt(endOf(exited)),
    maxMs: maxRestartPeriodMs(pod),
    earlier: {
      restarts: exitedInPlace(exited, podStatus) ? exited.restartCount : 0,
      atMonotonic: wallClock.monotonicAt(exited.startedAt),
    },
  };
}

/**
 * Returns when the container's back-off ends, with the waiting message. Returns undefined if the container may start
 * now. kubelet: kuberuntime_manager.go doBackOff
 */
export function crashLoopWait(
  backOff: BackOff,
  { key, endedAtMonotonic }: FinishedRun,
  pod: Pod,
  container: Container,
): { message: string; untilMonotonic: number } | undefined {
  if (!backOff.isInBackOffSince(key, endedAtMonotonic)) return undefined;
  const delayMs = backOff.get(key);
  const message = `back-off ${goDuration(delayMs)} restarting failed container=${container.name} pod=${formatPod(pod)}`;
  return { message, untilMonotonic: endedAtMonotonic + delayMs };
}

/**
 * A container in an unknown state is restarted too, repeatedly if its state stays unknown. kubelet: only exited
 * containers wait
 */
const hasEnded = (state: RuntimeContainerStatus['state']): boolean => state === 'exited' || state === 'unknown';

/**
 * At least the creation time, because a runtime that does not know the real one may report 0. Restarts would then never
 * be delayed.
 */
const endOf = ({ createdAt, finishedAt }: RuntimeContainerStatus): number => Math.max(createdAt, finishedAt);

/**
 * True if the container exited while its sandbox kept running. An exit caused by a reboot or power cut is not a crash
 * loop.
 */
function exitedInPlace(
  { createdAt }: RuntimeContainerStatus,
  { sandboxStatuses: [newest] }: RuntimePodStatus,
): boolean {
  return newest?.state === 'ready' && newest.createdAt <= createdAt;
}

/**
 * Limits of the back-off, up to the node's maximum. The time after which the back-off of a healthy container resets
 * does not depend on it. kubelet: kubelet.go NewMainKubelet
 */
export function crashLoopBackOffLimits(node: { maxContainerRestartPeriodMs: number }): BackOffLimits {
  const maxMs = node.maxContainerRestartPeriodMs;
  return { ...defaultBackOffLimits, initialMs: Math.min(defaultBackOffLimits.initialMs, maxMs), maxMs };
}

/** Other resources start over, too. kubelet: kuberuntime/helpers.go GetBackoffKey */
function stableKey({ metadata: { name, namespace, uid } }: Pod, container: Container): string {
  return JSON.stringify([name, namespace, uid, container.name, container.image, container.resources]);
}

/** Whole seconds as Go prints a duration: 10s, 1m20s, 5m0s. */
const goDuration = (ms: number): string => formatDurationMs(Math.round(ms / 1000) * 1000);
