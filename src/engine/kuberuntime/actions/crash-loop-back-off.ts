import { formatDurationMs } from '../../../api/values/duration.ts';
import { maxRestartPeriodMs } from '../../../api/values/max-restart-period.ts';
import type { Container, Pod } from '../../../api/types.ts';
import { type BackOff, type BackOffLimits, defaultBackOffLimits } from '../../../flow/back-off.ts';
import { formatPod } from '../../../api/values/pod-names.ts';
import type { WallClockHistory } from '../../../flow/wall-clock-history.ts';
import { containerHash } from '../../container/container-hash.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../container/runtime-pod-status.ts';

/** The newest ended run of a container, for its back-off. */
export interface EndedRun {
  /** Key of the back-off. */
  key: string;
  endedAtMonotonic: number;
  /** Longest wait by the pod's annotation. */
  maxMs: number | undefined;
  /** Start of the run, and its restarts by the runtime. Zero restarts if its whole sandbox ended. */
  earlier: { restarts: number; atMonotonic: number };
}

/** Returns undefined if no run of the container ended. */
export function endedRun(
  wallClock: Pick<WallClockHistory, 'monotonicAt'>,
  pod: Pod,
  container: Container,
  podStatus: RuntimePodStatus,
): EndedRun | undefined {
  const exited = podStatus.containerStatuses.find(({ name, state }) => name === container.name && hasEnded(state));
  // A run of another image shows nothing about this one.
  if (exited?.hash !== containerHash(container)) return undefined;
  return {
    key: stableKey(pod, container),
    endedAtMonotonic: wallClock.monotonicAt(endOf(exited)),
    maxMs: maxRestartPeriodMs(pod),
    earlier: {
      restarts: endedInPlace(exited, podStatus) ? exited.restartCount : 0,
      atMonotonic: wallClock.monotonicAt(exited.startedAt),
    },
  };
}

/**
 * End of the container's back-off, with the waiting message. Returns undefined if it may start now. kubelet:
 * kuberuntime_manager.go doBackOff
 */
export function crashLoopWait(
  backOff: BackOff,
  { key, endedAtMonotonic }: EndedRun,
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
 * Not before its creation, because a runtime without the true end may report 0, which would allow a restart at once,
 * for ever.
 */
const endOf = ({ createdAt, finishedAt }: RuntimeContainerStatus): number => Math.max(createdAt, finishedAt);

/** True if the container ended without its sandbox. An end by a reboot or power cut is no crash loop. */
function endedInPlace({ createdAt }: RuntimeContainerStatus, { sandboxStatuses: [newest] }: RuntimePodStatus): boolean {
  return newest?.state === 'ready' && newest.createdAt <= createdAt;
}

/**
 * Limits of the back-off, up to the node's maximum. The time after which a healthy container starts over does not
 * depend on it. kubelet: kubelet.go NewMainKubelet
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
