import fc from 'fast-check';
import type { PodFailurePolicyRule } from 'kubernetes-types/batch/v1.js';
import { expect, test } from 'vitest';
import { countIndexes, formatIndexRanges } from '../../../src/api/values/index-ranges.ts';
import type { DeclaredJob, JobRules } from '../../../src/api/values/job.ts';
import { jobPodUID } from '../../../src/api/values/job-pod.ts';
import { podUIDHash } from '../../../src/engine/config/load-manifest.ts';
import { computeJob, type JobDecision } from '../../../src/engine/workloads/compute-job.ts';
import type { JobRecord } from '../../../src/engine/workloads/records/job-record.ts';
import { propertyRuns, propertyTimeoutMs } from '../../support/property-runs.ts';
import { makeJob } from './job-world.ts';

type Kill = 'before the record is written' | 'before pods are declared';
type Step =
  | { kind: 'pass'; seconds: number }
  | { kind: 'end'; which: number; exitCode: number }
  | { kind: 'kill'; at: Kill }
  | { kind: 'suspend' }
  | { kind: 'parallelism'; count: number }
  | { kind: 'completions'; count: number }
  | { kind: 'removed' };

interface Pod {
  slot: number;
  attempt: number;
  exitCode?: number;
  endedAt?: number;
  isDeclared: boolean;
}

/** Exit codes for which the failure policy has a rule. */
const rules: readonly PodFailurePolicyRule[] = [
  { action: 'Ignore', onExitCodes: { operator: 'In', values: [7] } },
  { action: 'FailJob', onExitCodes: { operator: 'In', values: [42] } },
];
const failIndex: PodFailurePolicyRule = { action: 'FailIndex', onExitCodes: { operator: 'In', values: [13] } };

/** The rules of Jobs as Kubernetes documents them. It knows what ended, but neither slots nor records. */
class PlainJob {
  readonly succeeded = new Set<number>();
  readonly givenUp = new Set<number>();
  failed = 0;
  outcome: string | undefined;
  private readonly failures = new Map<number, number>();
  private inRow = 0;
  private lastFailedAt = -Infinity;
  private startedAt: number | undefined;

  /** What an agent decides that sees these pods end. */
  decide(given: JobRules, ended: readonly Pod[], isAnyActive: boolean, now: number): void {
    if (this.outcome === completionsReached && this.successes(given) < (given.completions ?? 1)) {
      this.outcome = undefined;
      this.startedAt = now;
    }
    if (this.outcome !== undefined) return;
    let failsAtOnce = false;
    for (const { slot, exitCode, endedAt = now } of ended.toSorted((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0))) {
      if (exitCode === 0) {
        this.succeeded.add(slot);
        this.inRow = 0;
        continue;
      }
      this.inRow++;
      this.lastFailedAt = endedAt;
      const hasPolicy = given.podFailurePolicy.length > 0;
      if (hasPolicy && exitCode === 42) failsAtOnce = true;
      const isIgnored = hasPolicy && exitCode === 7;
      const failures = (this.failures.get(slot) ?? 0) + (isIgnored ? 0 : 1);
      this.failures.set(slot, failures);
      if (!isIgnored) this.failed++;
      const { backoffLimitPerIndex } = given;
      if (backoffLimitPerIndex === undefined) continue;
      if ((!isIgnored && failures > backoffLimitPerIndex) || (hasPolicy && exitCode === 13)) this.givenUp.add(slot);
    }
    this.outcome = this.decided(given, failsAtOnce, isAnyActive, now);
    if (given.isSuspended) this.startedAt = undefined;
    else this.startedAt ??= now;
  }

  /** Why this pod must not start. Undefined if it may. */
  refusal(given: JobRules, { slot, attempt }: Pod, active: number, now: number): string | undefined {
    if (this.outcome !== undefined) return 'the Job is over';
    if (given.isSuspended) return 'the Job is suspended';
    if (this.succeeded.has(slot)) return 'its index has succeeded';
    if (this.givenUp.has(slot)) return 'its index is given up';
    if (active > given.parallelism) return 'too many run';
    if (given.completions === undefined && this.succeeded.size > 0) return 'the queue is empty';
    if (given.completions !== undefined && slot >= given.completions) return 'the Job has no such index';
    const failures = given.backoffLimitPerIndex === undefined ? this.inRow : Math.min(attempt, 1);
    const backOff = failures === 0 ? 0 : Math.min(600, 10 * 2 ** (failures - 1));
    const isBackingOff = given.backoffLimitPerIndex === undefined && now - this.lastFailedAt < backOff * 1000;
    return isBackingOff ? `the back-off of ${backOff} s is not over` : undefined;
  }

  private decided(given: JobRules, failsAtOnce: boolean, isAnyActive: boolean, now: number): string | undefined {
    const { activeDeadlineSeconds = Infinity, backoffLimit, completions, maxFailedIndexes = Infinity } = given;
    if (failsAtOnce) return 'Failed PodFailurePolicy';
    if (this.failed > backoffLimit) return 'Failed BackoffLimitExceeded';
    if (!given.isSuspended && now - (this.startedAt ?? now) >= activeDeadlineSeconds * 1000)
      return 'Failed DeadlineExceeded';
    const givenUp = below(this.givenUp, completions);
    if (givenUp > maxFailedIndexes) return 'Failed MaxFailedIndexesExceeded';
    if (givenUp > 0 && givenUp + this.successes(given) === completions) return 'Failed FailedIndexes';
    for (const { indexes, count } of given.successPolicy) {
      const meant = [...this.succeeded].filter(
        (index) => indexes === undefined || indexes.some(([first, last]) => first <= index && index <= last),
      );
      if (meant.length >= (count ?? countIndexes(indexes ?? []))) return 'Complete SuccessPolicy';
    }
    const isDone = this.successes(given) >= (completions ?? 1);
    const staysActive = isAnyActive && !given.isSuspended && given.parallelism > 0;
    if (isDone && (completions !== undefined || !staysActive)) return completionsReached;
    return undefined;
  }

  private successes({ completions, isIndexed }: JobRules): number {
    return isIndexed ? below(this.succeeded, completions) : this.succeeded.size;
  }
}

const completionsReached = 'Complete CompletionsReached';
const below = (indexes: ReadonlySet<number>, end = Infinity): number => [...indexes].filter((one) => one < end).length;

/** A Job, its pods, and agents that are killed. */
class World {
  now = Date.parse('2026-11-29T12:00:00Z');
  record: JobRecord | undefined;
  decision: JobDecision | undefined;
  readonly plain = new PlainJob();
  /** All pods that started and are not removed, by UID. */
  readonly pods = new Map<string, Pod>();
  /** UIDs of ended pods that were counted. */
  private readonly counted = new Set<string>();

  constructor(public job: DeclaredJob) {}

  decide(kill?: Kill): void {
    const before = this.record && (JSON.parse(JSON.stringify(this.record)) as JobRecord);
    const time = { now: this.now, since: (stamp: number) => this.now - stamp };
    const decision = computeJob(this.job, before, (uid) => this.statusOf(uid), time);
    if (kill === 'before the record is written') return;
    this.record = decision.record;
    const isOver = this.plain.outcome !== undefined;
    const fresh = [...this.pods].filter(
      ([uid, pod]) => pod.isDeclared && pod.exitCode !== undefined && !this.counted.has(uid),
    );
    for (const [uid] of fresh) this.counted.add(uid);
    const isAnyActive = this.active().length > 0 || this.isStarting(decision, before);
    this.plain.decide(this.job.rules, isOver ? [] : fresh.map(([, pod]) => pod), isAnyActive, this.now);
    this.compare(decision);
    if (kill === undefined) this.declare(decision);
  }

  active(): Pod[] {
    return [...this.pods.values()].filter(({ isDeclared, exitCode }) => isDeclared && exitCode === undefined);
  }

  end(pod: Pod, exitCode: number): void {
    this.now++;
    Object.assign(pod, { exitCode, endedAt: this.now });
  }

  /** True if the record knows pods that an agent was killed before it could declare. */
  private isStarting({ job }: JobDecision, before: JobRecord | undefined): boolean {
    return Object.entries(before?.slots ?? {}).some(
      ([slot, { attempt, state }]) =>
        state === 'active' && !this.pods.has(jobPodUID(job, { slot: Number(slot), attempt }, podUIDHash)),
    );
  }

  private statusOf(uid: string) {
    const pod = this.pods.get(uid);
    if (pod === undefined) return undefined;
    if (pod.exitCode === undefined) return { phase: 'Running' as const };
    const finishedAt = new Date(pod.endedAt ?? 0).toISOString();
    const state = { terminated: { exitCode: pod.exitCode, finishedAt } };
    const main = { name: 'main', image: '', imageID: '', ready: false, restartCount: 0, state };
    return { phase: pod.exitCode === 0 ? ('Succeeded' as const) : ('Failed' as const), containerStatuses: [main] };
  }

  private compare({ record, isExpired }: JobDecision): void {
    const { outcome, succeeded, failed, failedIndexes } = record;
    const shown = (indexes: Iterable<number>): string =>
      formatIndexRanges([...indexes].sort((a, b) => a - b).map((index) => [index, index]));
    const flat = (text: string): string => shown(new Set(text.split(',').flatMap(expanded)));
    expect({
      outcome: outcome && `${outcome.result} ${outcome.reason}`,
      succeeded: flat(formatIndexRanges(succeeded)),
      failed,
      failedIndexes: flat(formatIndexRanges(failedIndexes)),
    }).toEqual({
      outcome: this.plain.outcome,
      succeeded: shown(this.plain.succeeded),
      failed: this.plain.failed,
      failedIndexes: shown(this.plain.givenUp),
    });
    const { ttlSecondsAfterFinished = Infinity } = this.job.rules;
    const isOver = record.finishedAt !== undefined && this.now - record.finishedAt >= ttlSecondsAfterFinished * 1000;
    expect(isExpired === true).toBe(isOver);
  }

  private declare(decision: JobDecision): void {
    this.decision = decision;
    const declared = new Map(decision.pods.map((id) => [jobPodUID(decision.job, id, podUIDHash), id]));
    for (const [uid, pod] of this.pods) {
      pod.isDeclared = declared.has(uid);
      // A pod that runs takes time to stop.
      if (!pod.isDeclared && pod.exitCode !== undefined) this.pods.delete(uid);
    }
    for (const [uid, { slot, attempt }] of declared) {
      if (this.pods.has(uid)) continue;
      const pod = { slot, attempt, isDeclared: true };
      this.pods.set(uid, pod);
      const refusal = this.plain.refusal(this.job.rules, pod, this.active().length, this.now);
      if (refusal !== undefined) throw new Error(`pod ${slot}#${attempt} starts, although ${refusal}`);
      const others = this.active().filter((one) => one.slot === slot);
      if (others.length > 1) throw new Error(`two pods of index ${slot} run`);
    }
  }

  /** The pods that are no longer declared have stopped. */
  removeStopped(): void {
    for (const [uid, { isDeclared }] of this.pods) if (!isDeclared) this.pods.delete(uid);
  }
}

const expanded = (range: string): number[] => {
  if (range === '') return [];
  const [first = 0, last = first] = range.split('-').map(Number);
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
};

const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
const jobRules: fc.Arbitrary<Partial<JobRules>> = fc
  .record({
    completions: optional(fc.integer({ min: 1, max: 5 })),
    parallelism: fc.integer({ min: 1, max: 4 }),
    isIndexed: fc.boolean(),
    backoffLimit: fc.integer({ min: 0, max: 4 }),
    backoffLimitPerIndex: optional(fc.integer({ min: 0, max: 2 })),
    maxFailedIndexes: optional(fc.integer({ min: 0, max: 3 })),
    hasFailurePolicy: fc.boolean(),
    successPolicy: optional(fc.constantFrom({ count: 1 }, { indexes: [[0, 0]] as const }, { count: 2 })),
    activeDeadlineSeconds: optional(fc.integer({ min: 1, max: 2000 })),
    ttlSecondsAfterFinished: optional(fc.integer({ min: 0, max: 900 })),
  })
  .map(({ completions, isIndexed: wanted, hasFailurePolicy, successPolicy, ...given }): Partial<JobRules> => {
    const isIndexed = wanted && completions !== undefined;
    const { backoffLimitPerIndex, maxFailedIndexes, activeDeadlineSeconds, ttlSecondsAfterFinished } = given;
    const isPerIndex = isIndexed && backoffLimitPerIndex !== undefined;
    return {
      ...(completions !== undefined && { completions }),
      parallelism: given.parallelism,
      isIndexed,
      backoffLimit: isPerIndex ? 2 ** 31 - 1 : given.backoffLimit,
      ...(isPerIndex && { backoffLimitPerIndex }),
      ...(isPerIndex && maxFailedIndexes !== undefined && { maxFailedIndexes }),
      podFailurePolicy: hasFailurePolicy ? [...rules, ...(isPerIndex ? [failIndex] : [])] : [],
      successPolicy: isIndexed && successPolicy !== undefined ? [successPolicy] : [],
      ...(activeDeadlineSeconds !== undefined && { activeDeadlineSeconds }),
      ...(ttlSecondsAfterFinished !== undefined && { ttlSecondsAfterFinished }),
    };
  });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 700 }).map((seconds): Step => ({ kind: 'pass', seconds })) },
  {
    weight: 8,
    arbitrary: fc
      .record({ which: fc.nat(9), exitCode: fc.constantFrom(0, 0, 0, 1, 1, 7, 13, 42) })
      .map((end): Step => ({ kind: 'end', ...end })),
  },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom<Kill[]>('before the record is written', 'before pods are declared')
      .map((at): Step => ({ kind: 'kill', at })),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'suspend' }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 4 }).map((count): Step => ({ kind: 'parallelism', count })) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 5 }).map((count): Step => ({ kind: 'completions', count })) },
  { weight: 3, arbitrary: fc.constant<Step>({ kind: 'removed' }) },
);

test(
  'a Job follows the rules, although agents are killed: no index that succeeded runs again, the counts are true',
  () => {
    fc.assert(
      fc.property(jobRules, fc.array(step, { maxLength: 60 }), (given, steps) => {
        const job = makeJob(given);
        if (given.completions === undefined) delete job.rules.completions;
        const world = new World(job);
        const change = (more: Partial<JobRules>): void => {
          world.job = { ...world.job, rules: { ...world.job.rules, ...more } };
        };
        world.decide();
        for (const one of steps) {
          switch (one.kind) {
            case 'pass':
              world.now += one.seconds * 1000;
              break;
            case 'end': {
              const active = world.active();
              const pod = active[one.which % active.length];
              if (pod !== undefined) world.end(pod, one.exitCode);
              break;
            }
            case 'kill':
              world.decide(one.at);
              break;
            case 'suspend':
              change({ isSuspended: !world.job.rules.isSuspended });
              break;
            case 'parallelism':
              change({ parallelism: one.count });
              break;
            case 'completions':
              if (world.job.rules.completions !== undefined) change({ completions: one.count });
              break;
            case 'removed':
              world.removeStopped();
          }
          // An agent that is killed again and again sees several of these at once.
          if (one.kind !== 'end' || one.which % 2 === 0) world.decide();
        }
        // Whatever happened, it ends when every pod succeeds.
        change({ isSuspended: false, parallelism: Math.max(1, world.job.rules.parallelism) });
        for (let round = 0; round < 100 && world.record?.finishedAt === undefined; round++) {
          for (const pod of world.active()) world.end(pod, 0);
          world.removeStopped();
          world.decide();
          world.now += Math.min(world.decision?.nextMs ?? 1000, 600_000);
        }
        expect(world.record?.finishedAt).toBeDefined();
        expect(world.active()).toEqual([]);
      }),
      propertyRuns(300),
    );
  },
  propertyTimeoutMs,
);
