import type { DeclaredCronJob } from '../../api/values/job.ts';
import type { CronJobStatus } from '../view/job-status.ts';
import type { CronRecord } from './records/cron-record.ts';

/** The status of a CronJob according to its record, without its Jobs and its next run. */
export function cronStatus(
  { schedule, timeZone, isSuspended }: DeclaredCronJob,
  { lastScheduleTime, lastSuccessfulTime }: Partial<CronRecord> = {},
): Omit<CronJobStatus, 'jobs'> {
  return {
    schedule,
    ...(timeZone !== undefined && { timeZone }),
    isSuspended,
    ...(lastScheduleTime !== undefined && { lastScheduleTime }),
    ...(lastSuccessfulTime !== undefined && { lastSuccessfulTime }),
  };
}
