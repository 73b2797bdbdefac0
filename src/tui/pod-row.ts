import type { Pod } from '../api/types.ts';
import { isPodReady } from '../api/values/pod-conditions.ts';
import { humanDuration } from '../api/values/duration.ts';
import {
  ageText,
  lastExitText,
  podStatusText,
  pullText,
  readyText,
  restartCount,
  restartsText,
} from '../api/values/pod-printer.ts';
import type { EngineSnapshot, PodSnapshot, PullSnapshot, WorkerSnapshot } from '../engine/view/snapshot.ts';
import { printable } from '../text/visible-text.ts';
import type { Span } from './line.ts';
import type { Color } from './theme.ts';
import { podReason } from './pod-reason.ts';
import { cpuText, memoryText, type UsageHistory } from './usage-history.ts';

/** The cells of one pod in the pods table. */
export interface PodRow {
  namespace: Span;
  name: Span;
  ready: Span;
  status: Span;
  restarts: Span;
  /** `restarts` without the time of the last one. */
  restartCount: Span;
  age: Span;
  cpu: Span;
  memory: Span;
  reason: Span;
  worker: Span;
  lastSync: Span;
  next: Span;
}

interface RowFacts {
  now: number;
  node: EngineSnapshot;
  usage?: UsageHistory | undefined;
}

/** The cells of a pod at `now`. */
export function podRow(entry: PodSnapshot, { now, node, usage }: RowFacts): PodRow {
  const { pod, worker } = entry;
  return {
    namespace: { text: pod.metadata.namespace },
    name: { text: pod.metadata.name },
    ready: { text: readyText(pod) },
    status: statusSpan(entry),
    restarts: { text: lastRestartText(pod, now) },
    restartCount: { text: String(restartCount(pod)) },
    age: { text: ageText(pod, now) },
    cpu: { text: usage === undefined ? '' : cpuText(usage), color: 'cyan' },
    memory: { text: usage === undefined ? '' : memoryText(usage), color: 'cyan' },
    reason: { text: printable(podReason(entry, node, now)), color: 'yellow' },
    worker: { text: workerText(worker), ...(worker.working && { color: 'cyan' }) },
    lastSync: lastSyncSpan(worker, now),
    next: { text: nextSyncText(worker, now) },
  };
}

/** Such as `3 (OOMKilled, 30s ago)`. */
function lastRestartText(pod: Pod, now: number): string {
  const reason = restartCount(pod) === 0 ? '' : lastExitText(pod);
  return restartsText(pod, now).replace('(', reason === '' ? '(' : `(${printable(reason)}, `);
}

/** Progress of a pull, with a bar of ten characters if its size is known. */
export function pullBarText(pull: PullSnapshot): string {
  const { receivedBytes, totalBytes } = pull;
  if (totalBytes === undefined) return pullText(pull);
  const filled = Math.min(Math.floor((receivedBytes / totalBytes) * barWidth), barWidth);
  return `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)} ${pullText(pull)}`;
}

const barWidth = 10;

/** State of the worker, with `*` during a sync and `+` if an update waits. */
export function workerText(worker: WorkerSnapshot): string {
  return `${worker.state}${worker.working ? '*' : ''}${worker.pending ? '+' : ''}`;
}

/** Seconds until the pod's next sync. */
export function nextSyncText(worker: WorkerSnapshot, now: number): string {
  if (worker.nextSyncAt === undefined) {
    return '-';
  }
  return worker.nextSyncAt <= now ? 'now' : `${Math.ceil((worker.nextSyncAt - now) / 1000)}s`;
}

function lastSyncSpan(worker: WorkerSnapshot, now: number): Span {
  if (worker.lastSyncAt === undefined) {
    return { text: '-' };
  }
  const age = humanDuration(now - worker.lastSyncAt);
  if (worker.lastSyncError !== undefined) {
    return { text: `${age} ago: ${printable(worker.lastSyncError)}`, color: 'red' };
  }
  return { text: worker.lastSyncMs === undefined ? `${age} ago` : `${age} ago, ${Math.round(worker.lastSyncMs)}ms` };
}

function statusSpan({ pod, worker, restarting, pulls: [pull] = [] }: PodSnapshot): Span {
  if (pull !== undefined) return { text: `Pulling ${pullBarText(pull)}`, color: 'cyan' };
  const status = printable(podStatusText(pod, worker)) + (restarting === undefined ? '' : ' (restarting)');
  return { text: status, color: statusColor(pod, status) };
}

function statusColor(pod: Pod, status: string): Color {
  if (status === 'Running') {
    return isPodReady(pod.status) ? 'green' : 'yellow';
  }
  if (status === 'Completed' || status === 'Succeeded') {
    return 'gray';
  }
  if (status === 'Terminating') {
    return 'magenta';
  }
  return /BackOff|Err|Fail|Invalid|Unknown|Unavailable|Killed|ExitCode|Signal/.test(status) ? 'red' : 'yellow';
}
