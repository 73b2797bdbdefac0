import type { PodStatus } from '../../api/types.ts';
import { initAndRegularStatuses } from '../../api/values/container-statuses.ts';
import { countIndexes, lastIndexes, rangeWith, withIndex, withoutIndex } from '../../api/values/index-ranges.ts';
import type { DeclaredJob } from '../../api/values/job.ts';
import { isPodPhaseTerminal } from '../../api/values/pod-phase.ts';
import { type JobPodId, jobPodName, jobPodUID } from '../../api/values/job-pod.ts';
import { podUIDHash } from '../config/load-manifest.ts';
import {
  countSucceeded,
  type JobOutcome,
  type JobRecord,
  type JobSlot,
  newJobRecord,
  recordOfSame,
  withPodsOf,
} from './records/job-record.ts';
import { matchFailurePolicy, matchSuccessPolicy } from './match-job-policies.ts';

/** The time of a decision. */
export interface DecisionTime {
  /** Milliseconds since the epoch. */
  now: number;
  /** Returns the milliseconds since the wall clock showed this time, even if the clock was set. */
  since: (stamp: number) => number;
}

/**
 * Returns the status of a pod by its UID. It has no phase if that is not known yet, or if the pod has failed but will
 * start later. Returns undefined for a pod that the engine does not have.
 */
export type StatusOfPod = (uid: string) => PodStatus | undefined;

export interface JobDecision {
  /** The Job to which these pods belong: as declared, with the UIDs that it began with. */
  job: DeclaredJob;
  /** Must be on disk before these pods are declared. */
  record: JobRecord;
  /** Every pod to declare, also finished ones that are kept. */
  pods: JobPodId[];
  /** True if the Job has finished and its time to live is over. Absent otherwise. */
  isExpired?: boolean;
  /** Milliseconds until the next decision, if no pod changes. Absent if nothing is due. */
  nextMs?: number;
  /** Milliseconds until the next pod replaces a failed one. Absent if none waits for its back-off. */
  retryMs?: number;
}

/** Back-off after the first failure, and its limit. kubelet: pkg/controller/job/job_controller.go */
const backOffMs = 10_000;
const maxBackOffMs = 600_000;

const completionsReached = 'CompletionsReached';

/** How many pods that succeeded, and how many that failed, are kept. */
const maxSeenPods = 100;

/**
 * Decides which pods of a Job run. kubelet: pkg/controller/job/job_controller.go syncJob, manageJob
 *
 * A slot is an index, whether or not the Job is indexed: at any time one pod has it, and after a failure or a stop the
 * next one does. In Kubernetes a replacement may start while the pod before it still stops.
 */
export function computeJob(
  job: DeclaredJob,
  before: JobRecord | undefined,
  statusOf: StatusOfPod,
  time: DecisionTime,
): JobDecision {
  const same = recordOfSame(job, before);
  const record = same === undefined ? newJobRecord(job) : structuredClone(same);
  return new Decision(withPodsOf(record, job), record, statusOf, time).decide();
}

class Decision {
  private nextMs = Infinity;
  private retryMs = Infinity;

  constructor(
    private readonly job: DeclaredJob,
    private readonly record: JobRecord,
    private readonly statusOf: StatusOfPod,
    private readonly time: DecisionTime,
  ) {}

  decide(): JobDecision {
    const { record } = this;
    for (const slot of this.seenSlots()) if (this.runsAgain(slot)) this.runAgain(slot);
    // Completions may have been raised.
    if (record.outcome?.reason === completionsReached && !this.isComplete()) this.reopen();
    if (record.finishedAt === undefined) {
      const failsAtOnce = this.countEndedPods();
      if (this.active().some((slot) => this.slot(slot).isRetried)) this.finish(undefined);
      else this.proceed(failsAtOnce);
    }
    const isExpired = this.isExpired();
    const pods = isExpired ? [] : this.podsToDeclare();
    return {
      job: this.job,
      record,
      pods,
      ...(isExpired && { isExpired }),
      ...(Number.isFinite(this.nextMs) && { nextMs: Math.max(1, Math.ceil(this.nextMs)) }),
      ...(Number.isFinite(this.retryMs) && { retryMs: Math.ceil(this.retryMs) }),
    };
  }

  private proceed(failsAtOnce: string | undefined): void {
    const outcome = this.record.outcome ?? this.outcome(failsAtOnce);
    if (outcome === undefined) this.manage();
    else this.stop(this.active());
    this.finish(outcome ?? this.completion());
  }

  private runsAgain(slot: number): boolean {
    const phase = this.status(slot)?.phase;
    return phase === 'Pending' || phase === 'Running';
  }

  /** An operator retried a finished pod. The Job runs again until that pod ends, and its failures no longer count. */
  private runAgain(slot: number): void {
    const { record } = this;
    const { attempt, failures } = this.slot(slot);
    record.slots[slot] = { attempt, state: 'active', failures: 0, isRetried: true };
    record.succeeded = withoutIndex(record.succeeded, slot);
    record.failedIndexes = withoutIndex(record.failedIndexes, slot);
    record.failed = Math.max(0, record.failed - failures);
    record.failuresInRow = 0;
    if (record.outcome !== undefined) this.reopen();
  }

  private reopen(): void {
    const { record, time } = this;
    delete record.outcome;
    delete record.finishedAt;
    record.startedAt = time.now;
  }

  /** Records the pods that have succeeded or failed. Returns why the Job fails because of one of them, if it does. */
  private countEndedPods(): string | undefined {
    const ended = this.active()
      .map((slot) => ({ slot, status: this.status(slot) }))
      .filter(({ status }) => isPodPhaseTerminal(status?.phase))
      .map(({ slot, status = {} }) => ({ slot, status, endedAt: endOf(status) ?? this.time.now }))
      .sort((a, b) => a.endedAt - b.endedAt);
    const reasons = ended.map(({ slot, status, endedAt }) => {
      if (status.phase === 'Failed') return this.countFailure(slot, status, endedAt);
      this.countSuccess(slot);
      return undefined;
    });
    return reasons.find((reason) => reason !== undefined);
  }

  private countSuccess(slot: number): void {
    const { record } = this;
    record.succeeded = withIndex(record.succeeded, slot);
    record.failuresInRow = 0;
    const { attempt, failures } = this.slot(slot);
    if (attempt === 0) Reflect.deleteProperty(record.slots, slot);
    else record.slots[slot] = { attempt, state: 'succeeded', failures };
  }

  /** Returns why the Job fails because of this pod. Returns undefined if its limits decide that. */
  private countFailure(slot: number, status: PodStatus, failedAt: number): string | undefined {
    const { job, record } = this;
    const { rules, namespace } = job;
    const match = matchFailurePolicy(rules.podFailurePolicy, { namespace, name: jobPodName(job, slot), status });
    const { attempt, failures } = this.slot(slot);
    const isCounted = match?.action !== 'Ignore';
    record.slots[slot] = { attempt, state: 'failed', failures: failures + Number(isCounted), lastFailedAt: failedAt };
    record.failed += Number(isCounted);
    record.failuresInRow++;
    record.lastFailedAt = failedAt;
    const { backoffLimitPerIndex } = rules;
    const isGivenUp = match?.action === 'FailIndex' || (isCounted && failures + 1 > (backoffLimitPerIndex ?? Infinity));
    if (backoffLimitPerIndex !== undefined && isGivenUp) record.failedIndexes = withIndex(record.failedIndexes, slot);
    return match?.action === 'FailJob' ? match.message : undefined;
  }

  private outcome(failsAtOnce: string | undefined): JobOutcome | undefined {
    const { record } = this;
    const { backoffLimit, completions = Infinity, maxFailedIndexes = Infinity, successPolicy } = this.job.rules;
    const fail = (reason: string, message: string): JobOutcome => this.decided('Failed', reason, message);
    if (failsAtOnce !== undefined) return fail('PodFailurePolicy', failsAtOnce);
    if (record.failed > backoffLimit || this.restartsTooOften()) {
      return fail('BackoffLimitExceeded', 'Job has reached the specified backoff limit');
    }
    if (this.isPastDeadline()) return fail('DeadlineExceeded', 'Job was active longer than specified deadline');
    const given = countIndexes(record.failedIndexes, completions);
    if (given > maxFailedIndexes) {
      return fail('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes');
    }
    if (given > 0 && given + this.succeeded() >= completions) return fail('FailedIndexes', 'Job has failed indexes');
    const met = matchSuccessPolicy(successPolicy, record.succeeded);
    return met === undefined ? undefined : this.decided('Complete', 'SuccessPolicy', `Matched rules at index ${met}`);
  }

  private completion(): JobOutcome | undefined {
    if (this.active().length > 0) return undefined;
    if (!this.isComplete()) return undefined;
    return this.decided('Complete', completionsReached, 'Reached expected number of succeeded pods');
  }

  private isComplete(): boolean {
    return this.succeeded() >= (this.job.rules.completions ?? 1);
  }

  private decided(result: JobOutcome['result'], reason: string, message: string): JobOutcome {
    return { result, reason, message, decidedAt: this.time.now };
  }

  /** Containers that fail restart within their pod if the policy is OnFailure. */
  private restartsTooOften(): boolean {
    const { rules, template } = this.job;
    if (template.spec.restartPolicy !== 'OnFailure') return false;
    const restarts = this.active()
      .flatMap((slot) => initAndRegularStatuses(this.status(slot)))
      .reduce((sum, { restartCount }) => sum + restartCount, 0);
    return rules.backoffLimit === 0 ? restarts > 0 : restarts >= rules.backoffLimit;
  }

  private isPastDeadline(): boolean {
    const { rules } = this.job;
    const { startedAt } = this.record;
    if (rules.activeDeadlineSeconds === undefined || startedAt === undefined || rules.isSuspended) return false;
    return this.isOver(startedAt, rules.activeDeadlineSeconds * 1000);
  }

  /** Starts and stops pods, as many as should be active. */
  private manage(): void {
    const { record } = this;
    const { rules } = this.job;
    if (rules.isSuspended) {
      this.stop(this.active());
      if (record.startedAt !== undefined || record.suspendedAt === undefined) record.suspendedAt = this.time.now;
      delete record.startedAt;
      return;
    }
    if (record.startedAt === undefined) {
      record.startedAt = this.time.now;
      this.isPastDeadline();
    }
    const { completions = Infinity, isIndexed } = rules;
    if (isIndexed) this.stop(this.active().filter((slot) => slot >= completions));
    const active = this.active();
    const wanted = this.wantedActive(active.length);
    if (active.length > wanted) this.stop(active.slice(wanted));
    else this.start(wanted - active.length);
  }

  private wantedActive(active: number): number {
    const { completions, parallelism } = this.job.rules;
    if (completions === undefined) return this.succeeded() > 0 ? Math.min(active, parallelism) : parallelism;
    return Math.min(parallelism, Math.max(0, completions - this.succeeded()));
  }

  private start(count: number): void {
    if (count === 0) return;
    const { record } = this;
    const { backoffLimitPerIndex } = this.job.rules;
    if (backoffLimitPerIndex === undefined && this.backsOff(record.failuresInRow, record.lastFailedAt)) return;
    for (const slot of this.freeSlots(count)) {
      const before = this.record.slots[slot];
      const attempt = before === undefined ? 0 : before.attempt + 1;
      if (backoffLimitPerIndex !== undefined && this.backsOff(attempt, before?.lastFailedAt)) continue;
      record.slots[slot] = { ...this.slot(slot), attempt, state: 'active' };
    }
  }

  /** Returns the lowest indexes without an active pod that may still succeed. */
  private freeSlots(count: number): number[] {
    const { record } = this;
    const { completions, parallelism } = this.job.rules;
    const end = completions ?? parallelism;
    const free: number[] = [];
    for (let slot = 0; slot < end && free.length < count; slot++) {
      const over = rangeWith(record.succeeded, slot) ?? rangeWith(record.failedIndexes, slot);
      if (over !== undefined) slot = over[1];
      else if (record.slots[slot]?.state !== 'active') free.push(slot);
    }
    return free;
  }

  private backsOff(failures: number, failedAt: number | undefined): boolean {
    if (failures === 0 || failedAt === undefined) return false;
    const leftMs = this.leftMs(failedAt, Math.min(maxBackOffMs, backOffMs * 2 ** (failures - 1)));
    if (leftMs > 0) this.retryMs = Math.min(this.retryMs, leftMs);
    return leftMs > 0;
  }

  private stop(slots: readonly number[]): void {
    const { record } = this;
    for (const slot of slots) {
      const { attempt } = this.slot(slot);
      record.stopping.push(jobPodUID(this.job, { slot, attempt }, podUIDHash));
      record.slots[slot] = { ...this.slot(slot), state: 'stopped' };
    }
  }

  /** Drops the stopping pods that are gone. With an outcome, the Job has finished when none is left. */
  private finish(outcome: JobOutcome | undefined): void {
    const { record, time } = this;
    record.stopping = record.stopping.filter((uid) => {
      const status = this.statusOf(uid);
      return status !== undefined && !isPodPhaseTerminal(status.phase);
    });
    if (outcome === undefined) return;
    this.nextMs = Infinity;
    this.retryMs = Infinity;
    record.outcome = outcome;
    if (record.stopping.length === 0) record.finishedAt = time.now;
  }

  private isExpired(): boolean {
    const { finishedAt } = this.record;
    const { ttlSecondsAfterFinished } = this.job.rules;
    if (finishedAt === undefined || ttlSecondsAfterFinished === undefined) return false;
    return this.isOver(finishedAt, ttlSecondsAfterFinished * 1000);
  }

  private podsToDeclare(): JobPodId[] {
    // A finished pod that was removed would run again.
    const over = this.seenSlots().filter((slot) => this.status(slot) !== undefined);
    return [...over, ...this.active()]
      .sort((a, b) => a - b)
      .map((slot) => ({ slot, attempt: this.slot(slot).attempt }));
  }

  /** Returns the indexes whose newest pod is over and kept. */
  private seenSlots(): number[] {
    const { slots, succeeded } = this.record;
    const failed = Object.keys(slots)
      .map(Number)
      .filter((slot) => this.slot(slot).state === 'failed');
    return [...lastIndexes(succeeded, maxSeenPods), ...failed.slice(-maxSeenPods)];
  }

  private isOver(stamp: number, periodMs: number): boolean {
    return this.leftMs(stamp, periodMs) <= 0;
  }

  /** Returns how much of a period since a stamp is left. The next decision is due when none is. */
  private leftMs(stamp: number, periodMs: number): number {
    const leftMs = periodMs - this.time.since(stamp);
    if (leftMs > 0) this.nextMs = Math.min(this.nextMs, leftMs);
    return leftMs;
  }

  /** Returns the indexes with an active pod, in their order. */
  private active(): number[] {
    const { slots } = this.record;
    return Object.keys(slots)
      .map(Number)
      .filter((slot) => slots[slot]?.state === 'active');
  }

  private succeeded(): number {
    return countSucceeded(this.job, this.record);
  }

  private slot(slot: number): JobSlot {
    return this.record.slots[slot] ?? { attempt: 0, state: 'active', failures: 0 };
  }

  private status(slot: number): PodStatus | undefined {
    return this.statusOf(jobPodUID(this.job, { slot, attempt: this.slot(slot).attempt }, podUIDHash));
  }
}

/** Returns when the last container of a pod exited, in milliseconds since the epoch. */
function endOf(status: PodStatus): number | undefined {
  const ends = initAndRegularStatuses(status).map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ''));
  const last = Math.max(...ends.filter((end) => !Number.isNaN(end)));
  return Number.isFinite(last) ? last : undefined;
}
