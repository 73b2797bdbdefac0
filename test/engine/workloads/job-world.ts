import { podUIDHash } from '../../../src/engine/config/load-manifest.ts';
import type { ContainerStatus, PodStatus } from '../../../src/api/types.ts';
import type { DeclaredJob, JobRules } from '../../../src/api/values/job.ts';
import { computeJob, type JobDecision } from '../../../src/engine/workloads/compute-job.ts';
import { type JobPodId, jobPodUID } from '../../../src/api/values/job-pod.ts';
import type { JobRecord } from '../../../src/engine/workloads/records/job-record.ts';
import { makePod } from '../../builders/pods.ts';

export const rules: JobRules = {
  completions: 1,
  parallelism: 1,
  isIndexed: false,
  backoffLimit: 6,
  podFailurePolicy: [],
  successPolicy: [],
  isSuspended: false,
};

export function makeJob(changes: Partial<JobRules> = {}, restartPolicy: 'Never' | 'OnFailure' = 'Never'): DeclaredJob {
  const template = makePod({ metadata: { name: 'pi-edge1', uid: 'a0'.repeat(16) }, spec: { restartPolicy } });
  return { kind: 'Job', namespace: 'default', name: 'pi', rules: { ...rules, ...changes }, template };
}

const startedAt = Date.parse('2026-11-29T12:00:00Z');

/** A Job, its pods and the time. The decisions are made when the test says so. */
export class JobWorld {
  now = startedAt;
  record: JobRecord | undefined;
  decision: JobDecision | undefined;
  readonly statuses = new Map<string, PodStatus>();

  constructor(public job: DeclaredJob) {
    this.decide();
  }

  /** Decides after these seconds, as an agent that is killed between any two decisions. */
  decide(afterSeconds = 0): JobDecision {
    this.now += afterSeconds * 1000;
    const before = this.record && (JSON.parse(JSON.stringify(this.record)) as JobRecord);
    const time = { now: this.now, since: (stamp: number) => this.now - stamp };
    this.decision = computeJob(this.job, before, (uid) => this.statuses.get(uid), time);
    this.record = this.decision.record;
    const declared = this.decision.pods.map((id) => jobPodUID(this.decision?.job ?? this.job, id, podUIDHash));
    for (const uid of this.statuses.keys())
      if (!declared.includes(uid) && !this.stoppingSlowly) this.statuses.delete(uid);
    for (const uid of declared) if (!this.statuses.has(uid)) this.statuses.set(uid, { phase: 'Running' });
    return this.decision;
  }

  /** True if pods that are no longer declared remain until `stopped`. */
  stoppingSlowly = false;

  stopped(): void {
    this.stoppingSlowly = false;
    const declared = (this.decision?.pods ?? []).map((id) => jobPodUID(this.decision?.job ?? this.job, id, podUIDHash));
    for (const uid of this.statuses.keys()) if (!declared.includes(uid)) this.statuses.delete(uid);
  }

  /** The pods that run, such as `0` and `2#1` for the second pod of index 2. */
  running(): string[] {
    return this.seen('Running');
  }

  seen(phase: string): string[] {
    return (this.decision?.pods ?? [])
      .filter((id) => this.statuses.get(jobPodUID(this.decision?.job ?? this.job, id, podUIDHash))?.phase === phase)
      .map(({ slot, attempt }) => (attempt === 0 ? `${slot}` : `${slot}#${attempt}`));
  }

  succeed(...slots: number[]): void {
    for (const slot of slots) this.end(slot, { phase: 'Succeeded', containerStatuses: [this.exited(0)] });
  }

  fail(slot: number, exitCode = 1, more: Partial<PodStatus> = {}): void {
    this.end(slot, { phase: 'Failed', containerStatuses: [this.exited(exitCode)], ...more });
  }

  /** Runs a finished pod again, as `kubelet-ts retry` does. */
  retry(slot: number): void {
    this.end(slot, { phase: 'Running' });
  }

  end(slot: number, status: PodStatus): void {
    const id = this.decision?.pods.find((pod) => pod.slot === slot);
    if (id === undefined) throw new Error(`no pod has the index ${slot}`);
    this.statuses.set(this.uid(id), status);
  }

  uid(id: JobPodId): string {
    return jobPodUID(this.decision?.job ?? this.job, id, podUIDHash);
  }

  private exited(exitCode: number): ContainerStatus {
    const finishedAt = new Date(this.now).toISOString();
    const state = { terminated: { exitCode, finishedAt } };
    return { name: 'main', image: '', imageID: '', ready: false, restartCount: 0, state };
  }

  /** The outcome, and whether all pods have stopped. */
  outcome(): string | undefined {
    if (this.record?.outcome === undefined) return undefined;
    const { result, reason } = this.record.outcome;
    return `${result} ${reason}${this.record.finishedAt === undefined ? ' (stopping)' : ''}`;
  }
}
