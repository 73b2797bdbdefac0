import { join } from 'node:path';
import type { ContainerStatus, Pod } from '../../api/types.ts';
import { containerLogsDirectory } from '../../engine/container/log-paths.ts';
import { readLogTail } from '../../engine/logs/read-log-tail.ts';
import type { PodSnapshot } from '../../engine/view/snapshot.ts';
import { containerStatuses, exitCodes, firstEnd, type PodOutcome, unfinishedState } from './run-once-outcome.ts';

const tail = { maxLines: 20, maxBytes: 16 * 1024 };

/** One container at the end of a run. Its first end counts, because a run is about one run. */
export interface ContainerResult {
  name: string;
  state: 'ended' | 'running' | 'waiting';
  /** Absent unless it has ended. */
  exitCode?: number;
  /** The reason for its end or for its wait. */
  reason?: string;
  startedAt?: string;
  finishedAt?: string;
  /** The last log lines, if it failed, or if they were asked for. */
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

/** The result of a pod with the end of its logs. */
export async function podResult(pod: Pod, outcome: PodOutcome, request: ResultRequest): Promise<PodResult> {
  const isOver = outcome.outcome === 'failed' || outcome.outcome === 'timed out';
  const shown = isOver ? outcome.container : undefined;
  const containers = await Promise.all(
    containerStatuses(pod).map(async (status) => {
      const wanted = request.allLogs || status.name === shown || (firstEnd(status)?.exitCode ?? 0) !== 0;
      return containerResult(status, wanted ? await lastLines(pod, status.name, request.podLogsDir) : '');
    }),
  );
  const log = containers.find(({ name }) => name === shown)?.log;
  const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
  return { pod: name, ...outcome, ...(log !== undefined && { log }), containers };
}

async function lastLines({ metadata }: Pod, container: string, podLogsDir: string): Promise<string> {
  const path = join(containerLogsDirectory(podLogsDir, metadata, container), '0.log');
  return Buffer.from(await readLogTail(path, tail)).toString('utf8');
}

function containerResult(status: ContainerStatus, log: string): ContainerResult {
  const { name, state } = status;
  const withLog = log === '' ? {} : { log };
  const end = firstEnd(status);
  if (end === undefined) {
    const { running, waiting } = state ?? {};
    if (running === undefined) return { name, state: 'waiting', ...withReason(waiting?.reason), ...withLog };
    const { startedAt } = running;
    return { name, state: 'running', ...(startedAt !== undefined && { startedAt }), ...withLog };
  }
  const { exitCode, reason, startedAt, finishedAt } = end;
  return {
    name,
    state: 'ended',
    exitCode,
    ...withReason(reason),
    ...(startedAt !== undefined && { startedAt }),
    ...(finishedAt !== undefined && { finishedAt }),
    ...withLog,
  };
}

const withReason = (reason: string | undefined): { reason?: string } => (reason === undefined ? {} : { reason });

/** Why pods without an outcome have none. */
export interface Cut {
  by: 'decider' | 'timeout' | 'interrupt';
  timeoutMs: number;
}

/** The outcome of a pod that is not decided when the run is over. */
export function undecidedOutcome({ by, timeoutMs }: Cut, known: PodSnapshot | undefined): PodOutcome {
  if (by === 'interrupt') return { outcome: 'interrupted', exitCode: exitCodes.interrupted, message: '' };
  if (by === 'decider') return { outcome: 'not waited for', exitCode: 0, message: '' };
  const warning = known?.events.findLast((event) => event.type === 'Recorded' && event.eventType === 'Warning');
  const lastWarning = warning?.type === 'Recorded' ? warning.message : '';
  const unfinished = known === undefined ? { message: '' } : unfinishedState(known.pod, lastWarning);
  const message = [`not done after ${timeoutMs / 1000}s`, unfinished.message].filter((part) => part !== '').join(': ');
  return { outcome: 'timed out', exitCode: exitCodes.timedOut, ...unfinished, message };
}

/** Exit code of the deciding pod, or of the first one that failed. It is 1 if all went well but a removal. */
export function runExitCode(
  results: readonly PodOutcome[],
  { deciding, isRemoved }: { deciding: PodOutcome | undefined; isRemoved: boolean },
): number {
  const { exitCode } = deciding ?? results.find((result) => result.exitCode !== 0) ?? { exitCode: 0 };
  return exitCode === 0 && !isRemoved ? 1 : exitCode;
}
