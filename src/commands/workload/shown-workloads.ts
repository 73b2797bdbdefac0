import { supportedKinds } from '../../api/decoding/manifest-kinds.ts';
import type { ShownJob } from './job-tables.ts';
import type { ListedWorkload } from './recorded-workloads.ts';
import type { WrittenWorkload } from './written-workloads.ts';

/** Returns a workload that keeps pods running as Kubernetes shows it: as written, with its count and its status. */
export function shownReplicated(workload: ListedWorkload, written: WrittenWorkload | undefined): object {
  const { kind, namespace, name, desired, current, ready, available, updated, conditions } = workload;
  return {
    apiVersion: supportedKinds[kind],
    kind,
    metadata: { ...written?.metadata, namespace, name },
    // A scale changes the count, as in a cluster.
    spec: { ...written?.spec, ...(kind !== 'DaemonSet' && { replicas: desired }) },
    ...(current !== undefined && {
      status: {
        replicas: current,
        readyReplicas: ready,
        availableReplicas: available,
        updatedReplicas: updated,
        conditions,
      },
    }),
  };
}

/** Returns the Job as Kubernetes shows it. `written` is the Job, or the CronJob that runs it. */
export function shownJob({ namespace, name, status, conditions, owner }: ShownJob, written?: WrittenWorkload): object {
  const { completions, isSuspended, startTime, finishedAt, result, ...counts } = status;
  const own = owner.kind === 'CronJob' ? written?.spec?.jobTemplate : written;
  return {
    apiVersion: supportedKinds.Job,
    kind: 'Job',
    metadata: { ...own?.metadata, namespace, name },
    spec: { ...(completions !== undefined && { completions }), suspend: isSuspended, ...own?.spec },
    status: {
      ...counts,
      ...timesOf({ startTime, ...(result === 'Complete' && { completionTime: finishedAt }) }),
      conditions,
    },
  };
}

/** Returns the CronJob as Kubernetes shows it. */
export function shownCronJob({ namespace, name, cronJob }: ListedWorkload, written?: WrittenWorkload): object {
  if (cronJob === undefined) return {};
  const { isSuspended, jobs, lastScheduleTime, lastSuccessfulTime, schedule, timeZone } = cronJob;
  const active = jobs.filter(({ finishedAt }) => finishedAt === undefined);
  return {
    apiVersion: supportedKinds.CronJob,
    kind: 'CronJob',
    metadata: { ...written?.metadata, namespace, name },
    spec: { schedule, ...(timeZone !== undefined && { timeZone }), suspend: isSuspended, ...written?.spec },
    status: {
      active: active.map((job) => ({ kind: 'Job', namespace, name: job.name })),
      ...timesOf({ lastScheduleTime, lastSuccessfulTime }),
    },
  };
}

function timesOf(times: Readonly<Record<string, number | undefined>>): Record<string, string> {
  const known = Object.entries(times).flatMap(([name, at]) =>
    at === undefined ? [] : [[name, new Date(at).toISOString().replace(/\.\d+/, '')] as const],
  );
  return Object.fromEntries(known);
}
