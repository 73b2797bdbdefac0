import { join } from 'node:path';
import { podKey } from '../../api/values/pod-names.ts';
import type { ContainerStatus, Pod } from '../../api/types.ts';
import { sidecarsOf } from '../../api/values/sidecars.ts';
import { initAndRegularStatuses } from '../../api/values/container-statuses.ts';
import { containerLogsDirectory } from '../../engine/container/log-paths.ts';
import { readLogTail } from '../../engine/logs/read-log-tail.ts';
import type { PodSnapshot } from '../../engine/view/snapshot.ts';
import { type ContainerInstance, firstInstance, lastInstance } from './container-instances.ts';
import { exitCodes, isGood, type PodOutcome, unfinishedState } from './run-once-outcome.ts';

const tail = { maxLines: 20, maxBytes: 16 * 1024 };

/**
 * One container after a run. If the pod failed, its first exit counts, because a run is about one run. If the pod
 * succeeded, its last exit counts, because a retry may have succeeded.
 */
export interface ContainerResult {
  name: string;
  /** Present for a sidecar, which stops with its pod. */
  sidecar?: true;
  state: 'ended' | 'running' | 'waiting';
  /** Absent unless it has exited. */
  exitCode?: number;
  /** Why it exited or waits. */
  reason?: string;
  startedAt?: string;
  finishedAt?: string;
  /** The last log lines, if it failed or if they were requested. */
  log?: string;
}

export interface PodResult extends PodOutcome {
  /** `namespace/name` */
  pod: string;
  /** In the order of their start. Empty if the pod was not started. */
  containers: ContainerResult[];
  /** The last log lines of the container that failed or still runs. */
  log?: string;
}

interface ResultRequest {
  podLogsDir: string;
  /** True to read the last lines of all containers. */
  allLogs: boolean;
}

/** The result of a pod, with its last log lines. */
export async function podResult(pod: Pod, outcome: PodOutcome, request: ResultRequest): Promise<PodResult> {
  const isOver = outcome.outcome === 'failed' || outcome.outcome === 'timed out';
  const shown = isOver ? outcome.container : undefined;
  const sidecars = new Set(sidecarsOf(pod.spec).map(({ name }) => name));
  const containers = await Promise.all(
    initAndRegularStatuses(pod.status).map(async (status) => {
      const { name } = status;
      const instance = reportedInstance(status, outcome);
      const wanted = request.allLogs || name === shown || (instance.end?.exitCode ?? 0) !== 0;
      const log = wanted ? await lastLines(pod, name, instance.attempt, request.podLogsDir) : '';
      return containerResult(status, instance.end, { sidecar: sidecars.has(name), log });
    }),
  );
  const log = containers.find(({ name }) => name === shown)?.log;
  const name = podKey(pod.metadata);
  return { pod: name, ...outcome, ...(log !== undefined && { log }), containers };
}

/** The instance of a container that its result reports. */
function reportedInstance(status: ContainerStatus, outcome: PodOutcome): ContainerInstance {
  const [first, last] = [firstInstance(status), lastInstance(status)];
  if (!isGood(outcome)) return first;
  return outcome.outcome === 'completed' && last.end === undefined ? first : last;
}

async function lastLines({ metadata }: Pod, container: string, attempt: number, podLogsDir: string): Promise<string> {
  const path = join(containerLogsDirectory(podLogsDir, metadata, container), `${attempt}.log`);
  return Buffer.from(await readLogTail(path, tail)).toString('utf8');
}

function containerResult(
  { name, state }: ContainerStatus,
  end: ContainerInstance['end'],
  { sidecar, log }: { sidecar: boolean; log: string },
): ContainerResult {
  const named = { name, ...(sidecar && { sidecar }) };
  const withLog = log === '' ? {} : { log };
  if (end === undefined) {
    const { running, waiting } = state ?? {};
    if (running === undefined) return { ...named, state: 'waiting', ...withReason(waiting?.reason), ...withLog };
    const { startedAt } = running;
    return { ...named, state: 'running', ...(startedAt !== undefined && { startedAt }), ...withLog };
  }
  const { exitCode, reason, startedAt, finishedAt } = end;
  return {
    ...named,
    state: 'ended',
    exitCode,
    ...withReason(reason),
    ...(startedAt !== undefined && { startedAt }),
    ...(finishedAt !== undefined && { finishedAt }),
    ...withLog,
  };
}

const withReason = (reason: string | undefined): { reason?: string } => (reason === undefined ? {} : { reason });

/** Why some pods have no outcome. */
export interface Cut {
  by: 'decider' | 'timeout' | 'interrupt';
  timeoutMs: number;
}

/** The outcome of a pod that is undecided when the run stops. */
export function undecidedOutcome({ by, timeoutMs }: Cut, known: PodSnapshot | undefined): PodOutcome {
  if (by === 'interrupt') return { outcome: 'interrupted', exitCode: exitCodes.interrupted, message: '' };
  if (by === 'decider') return { outcome: 'not waited for', exitCode: 0, message: '' };
  const warning = known?.events.findLast((event) => event.type === 'Recorded' && event.eventType === 'Warning');
  const lastWarning = warning?.type === 'Recorded' ? warning.message : '';
  const unfinished = known === undefined ? { message: '' } : unfinishedState(known.pod, lastWarning);
  const message = [`not done after ${timeoutMs / 1000}s`, unfinished.message].filter((part) => part !== '').join(': ');
  return { outcome: 'timed out', exitCode: exitCodes.timedOut, ...unfinished, message };
}

/**
 * Exit code of the deciding pod, or of the first one that failed. If these succeeded, that of an interrupt that cut off
 * the output, or 1 if a removal failed.
 */
export function runExitCode(
  results: readonly PodOutcome[],
  { deciding, isRemoved, isShown }: { deciding: PodOutcome | undefined; isRemoved: boolean; isShown: boolean },
): number {
  const { exitCode } = deciding ?? results.find((result) => result.exitCode !== 0) ?? { exitCode: 0 };
  if (exitCode !== 0) return exitCode;
  if (!isShown) return exitCodes.interrupted;
  return isRemoved ? 0 : 1;
}
