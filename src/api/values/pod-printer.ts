import { isPodPhaseTerminal } from './pod-phase.ts';
import type { ContainerStatus, Pod } from '../types.ts';
import { initAndRegularStatuses } from './container-statuses.ts';
import { configAnnotations } from './config-annotations.ts';
import { humanDuration } from './duration.ts';
import { isConditionTrue, isPodReady } from './pod-conditions.ts';
import { sidecarsOf } from './sidecars.ts';

/** The facts of a pod worker that the printer needs; the engine's `WorkerSnapshot` has this form. */
export interface PrintedWorker {
  readonly state: string;
}

/**
 * The STATUS column of `kubectl get pods`: the reason of the container that matters most, `Init:1/2`, `Terminating` … A
 * static pod has no deletion timestamp, so `worker` says whether it is terminating. kubectl:
 * pkg/printers/internalversion/printers.go printPod
 */
export function podStatusText(pod: Pod, worker?: PrintedWorker): string {
  const phase = pod.status?.phase ?? 'Pending';
  const isFinal = isPodPhaseTerminal(phase);
  // A stopped pod is Failed from the moment of the request, so that it stays down; its containers may take long to
  // stop.
  if (pod.status?.reason === 'Stopped') return worker?.state === 'terminating' ? 'Terminating' : 'Stopped';
  if (isTerminating(pod, worker) && !isFinal) {
    return 'Terminating';
  }
  const phaseText = (pod.status?.reason ?? '') || phase;
  const initText = initStatusText(pod);
  if (initText !== undefined && !isConditionTrue(pod.status, 'Initialized')) {
    return initText;
  }
  return mainStatusText(pod, initText ?? phaseText);
}

/** The READY column: ready containers / containers that must be ready, sidecars included. */
export function readyText(pod: Pod): string {
  const sidecars = sidecarNames(pod);
  const statuses = [
    ...(pod.status?.containerStatuses ?? []).filter((status) => status.state?.running),
    ...(pod.status?.initContainerStatuses ?? []).filter((status) => sidecars.has(status.name) && status.started),
  ];
  const readyCount = statuses.filter((status) => status.ready).length;
  return `${readyCount}/${pod.spec.containers.length + sidecars.size}`;
}

/**
 * The RESTARTS column: `0`, or `3 (2m5s ago)` if the exit of an earlier instance is known, and the clock was not set
 * back since.
 */
export function restartsText(pod: Pod, now: number): string {
  const counted = countedStatuses(pod);
  const count = restartCount(pod);
  const lastEnds = counted
    .map((status) => Date.parse(status.lastState?.terminated?.finishedAt ?? ''))
    .filter((at) => at > 0 && at <= now + 1000);
  if (count === 0 || lastEnds.length === 0) {
    return String(count);
  }
  return `${count} (${humanDuration(now - Math.max(...lastEnds))} ago)`;
}

/** How the most recent container exited, such as `OOMKilled` or `Error (3)`. Empty if unknown. */
export function lastExitText({ status = {} }: Pod): string {
  const exits = initAndRegularStatuses(status).flatMap(
    ({ state, lastState }) => state?.terminated ?? lastState?.terminated ?? [],
  );
  const exitTimeOf = (end: { finishedAt?: string }): number => Date.parse(end.finishedAt ?? '') || 0;
  const last = exits.toSorted((a, b) => exitTimeOf(a) - exitTimeOf(b)).at(-1);
  if (last === undefined) return '';
  return last.reason === 'Error' ? `Error (${last.exitCode})` : terminationText(last);
}

/**
 * Restarts of the containers that currently matter: init containers until they are done, then regular ones and
 * sidecars.
 */
export function restartCount(pod: Pod): number {
  return countedStatuses(pod).reduce((sum, status) => sum + status.restartCount, 0);
}

/**
 * The AGE column, which counts from the moment the kubelet saw the pod. A creation timestamp in a manifest belongs to
 * the pod in a cluster that the manifest was exported from.
 */
export function ageText({ metadata, status }: Pod, now: number): string {
  const seen = metadata.annotations?.[configAnnotations.seen];
  const since = Date.parse(status?.startTime ?? seen ?? metadata.creationTimestamp ?? '');
  return Number.isNaN(since) ? '<unknown>' : humanDuration(now - since);
}

function isTerminating(pod: Pod, worker: PrintedWorker | undefined): boolean {
  return (
    pod.metadata.deletionTimestamp !== undefined ||
    (worker !== undefined && ['terminating', 'terminated', 'finished'].includes(worker.state))
  );
}

/** Status of the first init container that is not done. Returns undefined if all are done. */
function initStatusText(pod: Pod): string | undefined {
  const sidecars = sidecarNames(pod);
  const statuses = pod.status?.initContainerStatuses ?? [];
  for (const [index, status] of statuses.entries()) {
    const terminated = status.state?.terminated;
    if (terminated?.exitCode === 0 || (sidecars.has(status.name) && status.started)) {
      continue;
    }
    if (terminated !== undefined) {
      return `Init:${terminationText(terminated)}`;
    }
    const waitingReason = status.state?.waiting?.reason;
    if (waitingReason && waitingReason !== 'PodInitializing') {
      return `Init:${waitingReason}`;
    }
    return `Init:${index}/${pod.spec.initContainers?.length ?? 0}`;
  }
  return undefined;
}

/** Status of the first container that waits or has exited: kubectl walks the list from its end and overwrites. */
function mainStatusText(pod: Pod, fallback: string): string {
  const statuses = pod.status?.containerStatuses ?? [];
  const text = statuses.map(notRunningText).find((candidate) => candidate !== undefined) ?? fallback;
  const hasRunning = statuses.some((status) => status.ready && status.state?.running);
  if (text === 'Completed' && hasRunning) {
    return isPodReady(pod.status) ? 'Running' : 'NotReady';
  }
  return text;
}

function notRunningText(status: ContainerStatus): string | undefined {
  const { waiting, terminated } = status.state ?? {};
  if (waiting?.reason) {
    return waiting.reason;
  }
  return terminated && terminationText(terminated);
}

function terminationText(terminated: { reason?: string; signal?: number; exitCode: number }): string {
  if (terminated.reason) {
    return terminated.reason;
  }
  return terminated.signal ? `Signal:${terminated.signal}` : `ExitCode:${terminated.exitCode}`;
}

function countedStatuses(pod: Pod): ContainerStatus[] {
  const initStatuses = pod.status?.initContainerStatuses ?? [];
  if (initStatusText(pod) !== undefined && !isConditionTrue(pod.status, 'Initialized')) {
    return initStatuses;
  }
  const sidecars = sidecarNames(pod);
  return [...initStatuses.filter((status) => sidecars.has(status.name)), ...(pod.status?.containerStatuses ?? [])];
}

function sidecarNames(pod: Pod): Set<string> {
  return new Set(sidecarsOf(pod.spec).map((container) => container.name));
}

/** The facts of a pull that the printer needs; the engine's `PullSnapshot` has this form. */
export interface PrintedPull {
  readonly receivedBytes: number;
  /** Absent if unknown. */
  readonly totalBytes?: number;
}

/** Progress of a pull: `71% 12.3/17.4 MB`, or `12.3 MB` if the total is unknown. */
export function pullText({ receivedBytes, totalBytes }: PrintedPull): string {
  if (totalBytes === undefined) return `${inMegabytes(receivedBytes)} MB`;
  const percent = Math.floor((100 * receivedBytes) / totalBytes);
  return `${percent}% ${inMegabytes(receivedBytes)}/${inMegabytes(totalBytes)} MB`;
}

const inMegabytes = (bytes: number): string => (bytes / 1_000_000).toFixed(1);
