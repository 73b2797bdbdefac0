import type { Pod } from '../../api/types.ts';
import { isReplicated } from '../../api/values/declared-pods.ts';
import { maxReplicas } from '../../api/values/workload.ts';
import type { DeclaredWorkload, ReplicatedWorkload, WorkloadName } from '../../api/values/workload.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage, RequestRefused } from '../../errors.ts';
import { manualRun } from '../../api/values/job-pod.ts';
import { formatTime } from '../../api/values/time.ts';
import { podUIDHash } from '../config/load-manifest.ts';
import { rollbackTarget } from '../operations/compute-revision.ts';
import { type PodRecord, revisionName } from '../operations/pod-record.ts';
import type { AcceptedRevision } from '../operations/pod-revisions.ts';
import type { WorkloadRecord } from './records/workload-record.ts';
import type { WorkloadRecords } from './records/workload-records.ts';

/** Actions on a declared workload, in the words of kubectl. */
export const workloadActions = ['scale', 'restart', 'undo', 'pause', 'resume', 'run'] as const;
export type WorkloadAction = (typeof workloadActions)[number];

/** An operator's request for a declared workload. */
export interface WorkloadRequest {
  action: WorkloadAction;
  workload: WorkloadName;
  /** For `scale`. */
  replicas?: number;
  /** For `undo`: the number of the first pod's revision. Absent for the last other one that was Ready. */
  to?: number;
}

/** What operators can do with the workloads of an engine. */
export interface EngineWorkloads {
  /**
   * Resolves with what was done, such as `scaled`, or with the name of the Job that `run` begins, once the request is
   * on disk. Rejects with a `RequestRefused` if nothing was done.
   */
  operateWorkload(request: WorkloadRequest): Promise<string>;
}

interface Deps {
  records: Pick<WorkloadRecords, 'of' | 'ask'>;
  /** Returns the workload as its manifest declares it. */
  declared: (workload: WorkloadName) => DeclaredWorkload | undefined;
  /** Returns the first pod that the workload wants now. */
  firstPod: (workload: ReplicatedWorkload) => Pod;
  accepted: (pod: Pod) => AcceptedRevision | undefined;
  podRecord: (pod: Pod['metadata']) => PodRecord | undefined;
  decideWorkloads: () => void;
  clock: Pick<Clock, 'now'>;
}

/**
 * Handles requests of operators for declared workloads.
 *
 * INVARIANTS: a request is on disk before it is executed. Executing it again changes nothing.
 */
export class WorkloadOperations {
  constructor(private readonly deps: Deps) {}

  /** Writes a request to disk, then executes it. Resolves with what was done: `scaled` or `restarted`. */
  async act(request: WorkloadRequest): Promise<string> {
    const { records, declared: find, decideWorkloads } = this.deps;
    const declared = find(request.workload);
    if (declared === undefined) {
      const { kind, name } = request.workload;
      throw new RequestRefused('missing', `no manifest declares ${kind} ${name}`, 'kubelet-ts get all lists them.');
    }
    const { change, done } = this.changeOf(request, declared);
    const record = await records.ask(declared, change).catch((error: unknown) => {
      throw new RequestRefused('conflict', `nothing was done, because it cannot be written: ${errorMessage(error)}`);
    });
    decideWorkloads();
    return done(record);
  }

  private run(declared: DeclaredWorkload): Change {
    if (declared.kind !== 'CronJob') {
      throw new RequestRefused('invalid', `${declared.kind} ${declared.name} is not a CronJob`);
    }
    const now = this.deps.clock.now();
    return {
      change: (record) => ({ ...record, runsAt: [...(record.runsAt ?? []), nextRunAt(record, now)] }),
      done: ({ runsAt = [] }) => manualRun(declared, runsAt.at(-1) ?? now, podUIDHash).name,
    };
  }

  private changeOf({ action, replicas, to }: WorkloadRequest, declared: DeclaredWorkload): Change {
    if (action === 'run') return this.run(declared);
    if (!isReplicated(declared)) {
      throw new RequestRefused('invalid', `a ${declared.kind} has no replicas`);
    }
    if (action === 'restart' || action === 'undo') this.refusePaused(declared, action);
    switch (action) {
      case 'scale':
        return { change: scaled(declared, replicas), done: () => 'scaled' };
      case 'restart': {
        const restartedAt = formatTime(this.deps.clock.now());
        return { change: (record) => ({ ...record, restartedAt }), done: () => 'restarted' };
      }
      case 'undo':
        return { change: this.undone(declared, to), done: () => 'rolled back' };
      case 'pause':
        return { change: (record) => ({ ...record, isPaused: true }), done: () => 'paused' };
      case 'resume':
        return { change: ({ isPaused: _isPaused, ...record }) => record, done: () => 'resumed' };
    }
  }

  /** A paused rollout would change no pod. kubectl: polymorphichelpers/objectrestarter.go, rollback.go */
  private refusePaused(declared: ReplicatedWorkload, action: 'restart' | 'undo'): void {
    if (!declared.isPaused && this.deps.records.of(declared).isPaused !== true) return;
    const { kind, name } = declared;
    const what = action === 'undo' ? 'roll back' : 'restart';
    throw new RequestRefused(
      'conflict',
      `cannot ${what} ${kind} ${name}, because its rollout is paused`,
      declared.isPaused
        ? 'Remove spec.paused from its manifest.'
        : `Continue it first: kubelet-ts rollout resume ${kind.toLowerCase()}/${name}`,
    );
  }

  /** If the rollout has not reached the first pod, that one still has the template to go back to. */
  private undone(declared: ReplicatedWorkload, to: number | undefined): (record: WorkloadRecord) => WorkloadRecord {
    const { accepted, firstPod, podRecord } = this.deps;
    const first = firstPod(declared);
    const current = accepted(first);
    const record = podRecord(first.metadata);
    const template =
      current?.isGiven === false && to === undefined ? current.pod : record && rollbackTarget(record, to)?.pod;
    if (template === undefined) {
      const { kind, name } = declared;
      const message =
        to === undefined ? `${kind} ${name} has no earlier revision` : `${kind} ${name} has no revision ${to}`;
      throw new RequestRefused(
        'invalid',
        message,
        `kubelet-ts rollout history ${kind.toLowerCase()}/${name} lists them.`,
      );
    }
    const whileDeclared = revisionName(declared.template);
    const isDeclared = revisionName(template) === whileDeclared;
    return ({ undo: _undo, restartedAt: _restartedAt, ...rest }) => ({
      ...rest,
      ...(!isDeclared && { undo: { template, whileDeclared } }),
    });
  }
}

interface Change {
  change: (record: WorkloadRecord) => WorkloadRecord;
  /** Returns what was done, or the name of the Job that begins. */
  done: (changed: WorkloadRecord) => string;
}

/** Returns the second that names a requested run. No other requested run has it. */
function nextRunAt({ runsAt = [], cron }: WorkloadRecord, now: number): number {
  const begun = (cron?.runs ?? []).filter(({ isManual }) => isManual === true).map(({ scheduledAt }) => scheduledAt);
  const after = [...runsAt, ...begun].map((at) => at + 1000);
  return Math.max(Math.floor(now / 1000) * 1000, ...after);
}

/** A scale to the declared count ends the one before. */
function scaled(
  { kind, replicas: whileDeclared }: ReplicatedWorkload,
  replicas: number | undefined,
): (record: WorkloadRecord) => WorkloadRecord {
  if (kind === 'DaemonSet') throw new RequestRefused('invalid', 'a DaemonSet has one pod on this node');
  if (replicas === undefined || !Number.isInteger(replicas) || replicas < 0 || replicas > maxReplicas) {
    throw new RequestRefused('invalid', `replicas must be a number from 0 to ${maxReplicas}`);
  }
  return ({ scale: _scale, ...rest }) => ({
    ...rest,
    ...(replicas !== whileDeclared && { scale: { replicas, whileDeclared } }),
  });
}
