import { expect, test } from 'vitest';
import { cronJobTable, jobsOf, jobTable } from '../../../src/commands/workload/job-tables.ts';
import { shownCronJob, shownJob } from '../../../src/commands/workload/shown-workloads.ts';
import type { JobStatus } from '../../../src/engine/view/job-status.ts';
import type { WorkloadSnapshot } from '../../../src/engine/view/snapshot.ts';

const now = Date.parse('2026-11-29T12:00:00Z');
const minute = 60_000;

const job: JobStatus = {
  completions: 3,
  active: 1,
  ready: 1,
  succeeded: 2,
  failed: 0,
  terminating: 0,
  isSuspended: false,
  startTime: now - 5 * minute,
};
const workload = { namespace: 'default', desired: 1, current: 1, ready: 1, available: 0, updated: 1, pods: [] };
const workloads: WorkloadSnapshot[] = [
  { ...workload, kind: 'Job', name: 'pi', conditions: [], job },
  {
    ...workload,
    kind: 'CronJob',
    name: 'dump',
    conditions: [],
    cronJob: {
      schedule: '30 2 * * *',
      timeZone: 'Europe/Berlin',
      isSuspended: false,
      lastScheduleTime: now - 90 * minute,
      nextScheduleTime: now + 22 * 60 * minute,
      jobs: [
        {
          name: 'dump-29935290',
          ...job,
          active: 0,
          completions: 1,
          succeeded: 1,
          result: 'Complete',
          finishedAt: now - 4 * minute,
        },
      ],
    },
  },
];

test('Jobs have the columns of kubectl, with those that CronJobs run', async () => {
  expect((await jobTable(jobsOf(workloads), true, now)).split('\n')).toEqual([
    'NAMESPACE   NAME                      STATUS     COMPLETIONS   DURATION   AGE',
    'default     job.batch/pi              Running    2/3           5m         5m',
    'default     job.batch/dump-29935290   Complete   1/1           60s        5m',
    '',
  ]);
});

test('CronJobs have the columns of kubectl, and when they run next', async () => {
  expect((await cronJobTable(workloads, true, now)).split('\n')).toEqual([
    'NAMESPACE   NAME                 SCHEDULE     TIMEZONE        SUSPEND   ACTIVE   LAST SCHEDULE   NEXT',
    'default     cronjob.batch/dump   30 2 * * *   Europe/Berlin   False     0        90m             22h',
    '',
  ]);
});

test.each<[Partial<JobStatus>, string]>([
  [{ isSuspended: true }, 'Suspended'],
  [{ result: 'Failed' }, 'FailureTarget'],
  [{ result: 'Failed', finishedAt: now }, 'Failed'],
  [{ result: 'Complete' }, 'SuccessCriteriaMet'],
])('the status of %j is %s', async (changes, status) => {
  const changed = workloads.slice(0, 1).map((one) => ({ ...one, job: { ...job, ...changes } }));
  const text = await jobTable(jobsOf(changed), false, now);
  expect(text.split(/ +/)[2]).toBe(status);
});

test('JSON is that of Kubernetes', () => {
  const [first, second] = workloads;
  expect(jobsOf(first ? [first] : []).map((one) => shownJob(one))).toEqual([
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { namespace: 'default', name: 'pi' },
      spec: { completions: 3, suspend: false },
      status: {
        active: 1,
        ready: 1,
        succeeded: 2,
        failed: 0,
        terminating: 0,
        startTime: '2026-11-29T11:55:00Z',
        conditions: [],
      },
    },
  ]);
  expect(second && shownCronJob(second)).toEqual({
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { namespace: 'default', name: 'dump' },
    spec: { schedule: '30 2 * * *', timeZone: 'Europe/Berlin', suspend: false },
    status: { active: [], lastScheduleTime: '2026-11-29T10:30:00Z' },
  });
});
