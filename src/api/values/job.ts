import type { PodFailurePolicyRule } from 'kubernetes-types/batch/v1.js';
import type { Pod } from '../types.ts';
import type { IndexRanges } from './index-ranges.ts';

/** Limits of a Job. Each pod takes time and memory of the agent. The default of `--max-pods` is 110. */
export const maxParallelism = 1000;
export const maxCompletions = 100_000;

/** How the pods of a Job run, with all defaults. */
export interface JobRules {
  /** How many pods must succeed. Absent if the pods share a queue: one success is enough, and none starts after it. */
  completions?: number;
  parallelism: number;
  /** True if each pod has an index. */
  isIndexed: boolean;
  backoffLimit: number;
  backoffLimitPerIndex?: number;
  maxFailedIndexes?: number;
  podFailurePolicy: readonly PodFailurePolicyRule[];
  successPolicy: readonly SuccessRule[];
  activeDeadlineSeconds?: number;
  ttlSecondsAfterFinished?: number;
  isSuspended: boolean;
}

/** The Job succeeds if this many of these indexes did. */
export interface SuccessRule {
  /** Absent for all indexes of the Job. */
  indexes?: IndexRanges;
  /** Absent for all of them. */
  count?: number;
}

/** A Job that a manifest declares or a CronJob runs, defaulted and validated. */
export interface DeclaredJob {
  kind: 'Job';
  namespace: string;
  name: string;
  rules: JobRules;
  /** The pod if there is only one; `jobPod` returns the others. Its UID identifies the Job. */
  template: Pod;
}

export type ConcurrencyPolicy = 'Allow' | 'Forbid' | 'Replace';

/** A CronJob that a manifest declares, defaulted and validated. */
export interface DeclaredCronJob {
  kind: 'CronJob';
  namespace: string;
  name: string;
  schedule: string;
  /** Absent for that of the machine. */
  timeZone?: string;
  concurrencyPolicy: ConcurrencyPolicy;
  startingDeadlineSeconds?: number;
  isSuspended: boolean;
  successfulJobsHistoryLimit: number;
  failedJobsHistoryLimit: number;
  /** How its Jobs run. */
  rules: JobRules;
  /** As in a Job with the name of the CronJob. */
  template: Pod;
}
