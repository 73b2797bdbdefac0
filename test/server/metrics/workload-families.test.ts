import { expect, test } from 'vitest';
import type { WorkloadStatus } from '../../../src/engine/view/snapshot.ts';
import { textParts } from '../../../src/server/metrics/family.ts';
import { workloadFamilies } from '../../../src/server/metrics/workload-families.ts';

const named = (kind: WorkloadStatus['kind'], name: string): WorkloadStatus => ({
  ...{ kind, namespace: 'default', name, conditions: [] },
  ...{ desired: 3, current: 2, ready: 2, available: 1, updated: 0 },
});
const job = { active: 1, ready: 1, succeeded: 2, failed: 1, terminating: 0, isSuspended: false, startTime: 5000 };

/** The series of the workloads, without headers. */
const series = (...workloads: WorkloadStatus[]): string[] =>
  Buffer.concat([...textParts(workloadFamilies(workloads))].map((part) => Buffer.from(part)))
    .toString()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

test('a node without workloads has none of their metrics', () => {
  expect(workloadFamilies([])).toEqual([]);
});

test('a Deployment has its counts and conditions', () => {
  const condition = { type: 'Available', status: 'False' as const, reason: 'MinimumReplicasUnavailable', message: '' };
  const labels = 'namespace="default",deployment="web"';
  const ofCondition = `${labels},condition="Available"`;
  expect(series({ ...named('Deployment', 'web'), conditions: [condition] })).toEqual([
    `kube_deployment_spec_replicas{${labels}} 3`,
    `kube_deployment_status_replicas{${labels}} 2`,
    `kube_deployment_status_replicas_ready{${labels}} 2`,
    `kube_deployment_status_replicas_available{${labels}} 1`,
    `kube_deployment_status_replicas_unavailable{${labels}} 2`,
    `kube_deployment_status_replicas_updated{${labels}} 0`,
    ...['true', 'false', 'unknown'].map(
      (status) =>
        `kube_deployment_status_condition{${ofCondition},status="${status}",reason="MinimumReplicasUnavailable"} ${status === 'false' ? 1 : 0}`,
    ),
  ]);
});

test.each<[WorkloadStatus['kind'], string[]]>([
  [
    'StatefulSet',
    ['replicas', 'status_replicas', 'status_replicas_ready', 'status_replicas_available', 'status_replicas_updated'],
  ],
  [
    'DaemonSet',
    [
      ...['status_desired_number_scheduled', 'status_current_number_scheduled', 'status_number_ready'],
      ...['status_number_available', 'status_number_unavailable', 'status_updated_number_scheduled'],
    ],
  ],
  ['ReplicaSet', ['spec_replicas', 'status_replicas', 'status_ready_replicas']],
  ['ReplicationController', ['spec_replicas', 'status_replicas', 'status_ready_replicas']],
])('a %s has its counts', (kind, names) => {
  const prefix = kind.toLowerCase();
  expect(series(named(kind, 'db')).map((line) => line.replace(/ \d+$/, ''))).toEqual(
    names.map((name) => `kube_${prefix}_${name}{namespace="default",${prefix}="db"}`),
  );
});

test('a CronJob has its times, and its Jobs', () => {
  const jobs = [{ name: 'dump-1', ...job, result: 'Complete' as const, finishedAt: 9000 }];
  const times = { lastScheduleTime: 4000, nextScheduleTime: 90_000 };
  const ofCron = 'namespace="default",cronjob="dump"';
  const ofJob = 'namespace="default",job_name="dump-1"';
  const cronJob = { schedule: '@daily', isSuspended: false, ...times, jobs };
  expect(series({ ...named('CronJob', 'dump'), cronJob })).toEqual([
    `kube_cronjob_spec_suspend{${ofCron}} 0`,
    `kube_cronjob_status_active{${ofCron}} 0`,
    `kube_cronjob_status_last_schedule_time{${ofCron}} 4`,
    `kube_cronjob_next_schedule_time{${ofCron}} 90`,
    `kube_job_status_active{${ofJob}} 1`,
    `kube_job_status_succeeded{${ofJob}} 2`,
    `kube_job_status_failed{${ofJob}} 1`,
    `kube_job_status_suspended{${ofJob}} 0`,
    `kube_job_status_start_time{${ofJob}} 5`,
    `kube_job_status_completion_time{${ofJob}} 9`,
    `kube_job_complete{${ofJob},condition="true"} 1`,
    `kube_job_complete{${ofJob},condition="false"} 0`,
    `kube_job_complete{${ofJob},condition="unknown"} 0`,
    `kube_job_owner{${ofJob},owner_kind="CronJob",owner_name="dump",owner_is_controller="true"} 1`,
  ]);
});
