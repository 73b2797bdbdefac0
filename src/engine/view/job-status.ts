/** The state of a Job, as in its status in Kubernetes. Times are milliseconds since the epoch. */
export interface JobStatus {
  /** Absent if its pods share a queue. */
  completions?: number;
  active: number;
  ready: number;
  succeeded: number;
  failed: number;
  /** Pods that must stop and still run. */
  terminating: number;
  /** Such as `0-2,5`. Absent unless it is indexed. */
  completedIndexes?: string;
  /** Absent unless it has a limit per index. */
  failedIndexes?: string;
  isSuspended: boolean;
  /** When the next pod replaces a failed one. Absent if none waits for its back-off. */
  nextRetryTime?: number;
  startTime?: number;
  /** When all its pods had stopped. */
  finishedAt?: number;
  /** Absent while it is undecided. */
  result?: 'Complete' | 'Failed';
}

/** The state of a CronJob. Times are milliseconds since the epoch. */
export interface CronJobStatus {
  schedule: string;
  timeZone?: string;
  isSuspended: boolean;
  lastScheduleTime?: number;
  lastSuccessfulTime?: number;
  /** Absent if it is suspended or never runs. */
  nextScheduleTime?: number;
  /** Its Jobs that are active or kept, oldest first. */
  jobs: ({ name: string } & JobStatus)[];
}
