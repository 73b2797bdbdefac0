import { humanDuration } from '../../api/values/duration.ts';
import type { JobStatus } from '../../engine/view/job-status.ts';
import type { WorkloadName } from '../../api/values/workload.ts';
import type { WorkloadCondition } from '../../engine/view/snapshot.ts';
import { formatTable } from '../../text/format-table.ts';
import { visible } from '../../text/visible-text.ts';
import type { ListedWorkload } from './recorded-workloads.ts';

/** A Job that a manifest declares, or that a CronJob runs. */
export interface ShownJob {
  namespace: string;
  name: string;
  status: JobStatus;
  conditions: readonly WorkloadCondition[];
  /** Itself, or the CronJob that runs it. */
  owner: WorkloadName;
  /** False without an agent: then the status is as it was recorded last. */
  isCurrent: boolean;
}

/** Returns the Jobs of workloads, with those of CronJobs. */
export function jobsOf(workloads: readonly ListedWorkload[], isCurrent = true): ShownJob[] {
  return workloads.flatMap(({ kind, namespace, name, job, cronJob, conditions }) => {
    const owner = { kind, namespace, name };
    return [
      ...(job ? [{ namespace, name, status: job, conditions, owner, isCurrent }] : []),
      ...(cronJob?.jobs ?? []).map(({ name: run, ...status }) => {
        return { namespace, name: run, status, conditions: [], owner, isCurrent };
      }),
    ];
  });
}

/** Returns the table of `get job` as in kubectl. */
export function jobTable(jobs: readonly ShownJob[], hasHeader: boolean, now: number): Promise<string> {
  const { header: reason, cells } = reasonColumn(jobs);
  const header = ['NAMESPACE', 'NAME', 'STATUS', 'COMPLETIONS', 'DURATION', 'AGE', ...reason];
  const rows = jobs.map(({ namespace, name, status, isCurrent }, index) => {
    const { startTime, finishedAt } = status;
    return [
      visible(namespace),
      visible(`job.batch/${name}`),
      statusText(status, isCurrent),
      completionsText(status),
      startTime === undefined ? '' : humanDuration((finishedAt ?? now) - startTime),
      sinceText(startTime, now),
      ...(cells[index] ?? []),
    ];
  });
  return formatTable([...(hasHeader ? [header] : []), ...rows]);
}

/** Returns the table of `get cronjob` as in kubectl, and when the next run is due. */
export function cronJobTable(workloads: readonly ListedWorkload[], hasHeader: boolean, now: number): Promise<string> {
  const { header: reason, cells } = reasonColumn(workloads);
  const header = ['NAMESPACE', 'NAME', 'SCHEDULE', 'TIMEZONE', 'SUSPEND', 'ACTIVE', 'LAST SCHEDULE', 'NEXT', ...reason];
  const rows = workloads.flatMap(({ namespace, name, cronJob }, index) =>
    cronJob === undefined
      ? []
      : [
          [
            visible(namespace),
            visible(`cronjob.batch/${name}`),
            visible(cronJob.schedule),
            visible(cronJob.timeZone ?? '<none>'),
            cronJob.isSuspended ? 'True' : 'False',
            String(cronJob.jobs.filter(({ finishedAt }) => finishedAt === undefined).length),
            cronJob.lastScheduleTime === undefined ? '<none>' : sinceText(cronJob.lastScheduleTime, now),
            cronJob.nextScheduleTime === undefined ? '<none>' : humanDuration(cronJob.nextScheduleTime - now),
            ...(cells[index] ?? []),
          ],
        ],
  );
  return formatTable([...(hasHeader ? [header] : []), ...rows]);
}

/** Returns a column that says why pods of these workloads cannot run. It is empty if all can. */
export function reasonColumn(found: readonly Pick<ListedWorkload, 'conditions'>[]): {
  header: string[];
  cells: string[][];
} {
  const reasons = found.map(({ conditions }) => conditions.find(({ type }) => type === 'ReplicaFailure')?.reason ?? '');
  if (reasons.every((reason) => reason === '')) return { header: [], cells: [] };
  return { header: ['REASON'], cells: reasons.map((reason) => [visible(reason)]) };
}

/** kubelet: pkg/printers/internalversion/printers.go printJob */
function statusText({ finishedAt, isSuspended, result }: JobStatus, isCurrent: boolean): string {
  if (result === 'Complete') return finishedAt === undefined ? 'SuccessCriteriaMet' : 'Complete';
  if (result === 'Failed') return finishedAt === undefined ? 'FailureTarget' : 'Failed';
  if (isSuspended) return 'Suspended';
  return isCurrent ? 'Running' : '<unknown>';
}

function completionsText({ completions, succeeded }: JobStatus): string {
  return `${succeeded}/${completions ?? 1}`;
}

const sinceText = (at: number | undefined, now: number): string =>
  at === undefined ? '<unknown>' : humanDuration(now - at);
