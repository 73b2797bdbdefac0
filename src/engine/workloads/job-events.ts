import type { DeclaredCronJob, DeclaredJob } from '../../api/values/job.ts';
import { reasons } from '../view/reasons.ts';
import type { CronRecord } from './records/cron-record.ts';
import type { JobRecord } from './records/job-record.ts';
import type { WorkloadEvent } from './workload-decision.ts';

/** Returns what happened to a Job between two of its records. kubelet: pkg/controller/job/job_controller.go */
export function jobEvents(job: DeclaredJob, before: JobRecord | undefined, after: JobRecord): WorkloadEvent[] {
  const { finishedAt, outcome, startedAt, suspendedAt } = after;
  const isSame = before?.uid === after.uid && before.names === after.names;
  const earlier: Partial<JobRecord> = isSame ? before : {};
  const event = (isNormal: boolean, reason: string, message: string): WorkloadEvent[] => [
    { eventType: isNormal ? 'Normal' : 'Warning', reason, message: `Job ${job.namespace}/${job.name}: ${message}` },
  ];
  if (finishedAt !== undefined && earlier.finishedAt === undefined && outcome?.result === 'Complete')
    return event(true, reasons.completed, 'Job completed');
  if (outcome?.result === 'Failed' && earlier.outcome === undefined)
    return event(false, outcome.reason, outcome.message);
  if (suspendedAt !== earlier.suspendedAt) return event(true, reasons.suspended, 'Job suspended');
  if (startedAt !== undefined && earlier.suspendedAt !== undefined && earlier.startedAt === undefined)
    return event(true, reasons.resumed, 'Job resumed');
  return [];
}

/** Returns what happened to a CronJob. kubelet: pkg/controller/cronjob/cronjob_controllerv2.go */
export function cronEvents(cron: DeclaredCronJob, before: CronRecord | undefined, after: CronRecord): WorkloadEvent[] {
  const events: WorkloadEvent[] = [];
  const add = (eventType: WorkloadEvent['eventType'], reason: string, message: string): void => {
    events.push({ eventType, reason, message: `CronJob ${cron.namespace}/${cron.name}: ${message}` });
  };
  for (const { job, record } of after.runs) {
    const known = before?.runs.find((run) => run.job.name === job.name);
    if (known === undefined) add('Normal', reasons.successfulCreate, `Created job ${job.name}`);
    events.push(...jobEvents(job, known?.record, record).map((event) => ({ ...event, job: job.name })));
  }
  const { missed } = after;
  if (missed === undefined || missed.at === before?.missed?.at) return events;
  const time = new Date(missed.at).toISOString();
  if (missed.because === 'TooLate') add('Warning', reasons.missSchedule, `Missed the run of ${time}: it is too late`);
  else add('Normal', reasons.jobAlreadyActive, `The run of ${time} waits for the one before it`);
  return events;
}
