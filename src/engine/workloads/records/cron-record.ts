import { type DeclaredJob, type JobRules, maxParallelism, type SuccessRule } from '../../../api/values/job.ts';
import type { PodFailurePolicyRule } from 'kubernetes-types/batch/v1.js';
import { isCount, isFlag, isListOf, isOneOf, isShape, isText, isTime, optional } from './record-checks.ts';
import { areIndexes, isIndexCount, isJobRecord, type JobRecord } from './job-record.ts';
import { isTemplate } from './is-template.ts';

/** What must survive a restart of a CronJob. It is on disk before a run begins. */
export interface CronRecord {
  /** Schedule and time zone. Other ones count from when they were declared. */
  schedule: string;
  /**
   * Periods whose runs were begun, were replaced by newer ones or came before the CronJob, ascending; milliseconds
   * since the epoch. There is more than one only if the clock was set or the machine was off for long.
   */
  handled: Period[];
  /** The last run that was due but not begun, and why. */
  missed?: { at: number; because: MissReason };
  /** When the last run that was begun was due. */
  lastScheduleTime?: number;
  /** When a run last completed. */
  lastSuccessfulTime?: number;
  /** Runs that are active or kept, oldest first. */
  runs: CronRunRecord[];
}

export type Period = [start: number, end: number];

/** `Active`: too many other runs are active. `TooLate`: its starting deadline is over. */
export type MissReason = 'Active' | 'TooLate';

export interface CronRunRecord {
  /** When it was due, or when an operator requested it. */
  scheduledAt: number;
  /** True if an operator requested it, in addition to the schedule. Absent otherwise. */
  isManual?: true;
  /** As declared when it began: a changed manifest concerns the next run. */
  job: DeclaredJob;
  record: JobRecord;
}

export const maxPeriods = 16;

const isPeriod = (value: unknown): boolean => Array.isArray(value) && value.length === 2 && value.every(isTime);

const isFailureRule = isShape<PodFailurePolicyRule>({
  action: isText,
  onExitCodes: optional(
    isShape<NonNullable<PodFailurePolicyRule['onExitCodes']>>({
      containerName: optional(isText),
      operator: isText,
      values: isListOf(isCount()),
    }),
  ),
  onPodConditions: optional(isListOf(isShape<{ type: string; status: string }>({ type: isText, status: isText }))),
});

const isRules = isShape<JobRules>({
  completions: optional(isIndexCount),
  parallelism: isCount(maxParallelism),
  isIndexed: isFlag,
  backoffLimit: isCount(),
  backoffLimitPerIndex: optional(isCount()),
  maxFailedIndexes: optional(isCount()),
  podFailurePolicy: isListOf(isFailureRule),
  successPolicy: isListOf(isShape<SuccessRule>({ indexes: optional(areIndexes), count: optional(isCount()) })),
  activeDeadlineSeconds: optional(isCount()),
  ttlSecondsAfterFinished: optional(isCount()),
  isSuspended: isFlag,
});

const isRun = isShape<CronRunRecord>({
  scheduledAt: isTime,
  isManual: optional(isOneOf(true)),
  job: isShape<DeclaredJob>({
    kind: isOneOf('Job'),
    namespace: isText,
    name: isText,
    rules: isRules,
    template: isTemplate,
  }),
  record: isJobRecord,
});

export const isCronRecord = isShape<CronRecord>({
  schedule: isText,
  handled: (value) => Array.isArray(value) && value.length <= maxPeriods && value.every(isPeriod),
  missed: optional(isShape<NonNullable<CronRecord['missed']>>({ at: isTime, because: isOneOf('Active', 'TooLate') })),
  lastScheduleTime: optional(isTime),
  lastSuccessfulTime: optional(isTime),
  runs: isListOf(isRun),
});
