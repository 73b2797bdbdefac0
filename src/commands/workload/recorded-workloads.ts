import type { DeclaredCronJob, DeclaredJob } from '../../api/values/job.ts';
import { type DeclaredWorkload, workloadKey } from '../../api/values/workload.ts';
import type { CronRecord } from '../../engine/workloads/records/cron-record.ts';
import { cronStatus } from '../../engine/workloads/cron-status.ts';
import { effectiveWorkload, withoutEnded } from '../../engine/workloads/effective-workload.ts';
import { countSucceeded, type JobRecord, recordOfSame } from '../../engine/workloads/records/job-record.ts';
import { emptyWorkloadRecord, type WorkloadRecord } from '../../engine/workloads/records/workload-record.ts';
import { readWorkloadRecords } from '../../engine/workloads/records/workload-records.ts';
import type { CronJobStatus, JobStatus } from '../../engine/view/job-status.ts';
import type { WorkloadSnapshot } from '../../engine/view/snapshot.ts';
import { declaredWorkloads } from '../objects/declared-config-objects.ts';

type Count = 'current' | 'ready' | 'available' | 'updated';

/** A workload as the agent reports it, or as the disk declares it. Without an agent, the counts of pods are absent. */
export type ListedWorkload = Omit<WorkloadSnapshot, Count> & Partial<Pick<WorkloadSnapshot, Count>>;

/**
 * The workloads that the manifests on disk declare, with what operators requested and what Jobs did, for use while no
 * agent runs. Rejects if this user may not read the root-dir.
 */
export async function recordedWorkloads(rootDir: string, nodeName: string): Promise<ListedWorkload[]> {
  const [declared, records] = await Promise.all([declaredWorkloads(rootDir, nodeName), readWorkloadRecords(rootDir)]);
  return declared.map(({ workload, where }) => {
    const key = workloadKey(workload);
    const record = records.find((one) => workloadKey(one) === key) ?? emptyWorkloadRecord(workload);
    const { kind, namespace, name } = workload;
    return { kind, namespace, name, conditions: [], pods: [], declaredBy: { where }, ...stateOf(workload, record) };
  });
}

function stateOf(
  workload: DeclaredWorkload,
  record: WorkloadRecord,
): Pick<ListedWorkload, 'desired' | 'job' | 'cronJob'> {
  if (workload.kind === 'CronJob') return { desired: 0, cronJob: recordedCronJob(workload, record.cron) };
  if (workload.kind !== 'Job') return { desired: effectiveWorkload(workload, withoutEnded(workload, record)).replicas };
  return { desired: workload.rules.completions ?? 1, job: recordedJob(workload, recordOfSame(workload, record.job)) };
}

function recordedCronJob(cron: DeclaredCronJob, record?: CronRecord): CronJobStatus {
  const jobs = (record?.runs ?? []).map((run) => ({ name: run.job.name, ...recordedJob(run.job, run.record) }));
  return { ...cronStatus(cron, record), jobs };
}

function recordedJob(job: DeclaredJob, record?: JobRecord): JobStatus {
  const { completions, isSuspended } = job.rules;
  const { startedAt, finishedAt, outcome, slots = {} } = record ?? {};
  return {
    ...(completions !== undefined && { completions }),
    active: Object.values(slots).filter(({ state }) => state === 'active').length,
    ready: 0,
    succeeded: record === undefined ? 0 : countSucceeded(job, record),
    failed: record?.failed ?? 0,
    terminating: record?.stopping.length ?? 0,
    isSuspended,
    ...(startedAt !== undefined && { startTime: startedAt }),
    ...(finishedAt !== undefined && { finishedAt }),
    ...(outcome && { result: outcome.result }),
  };
}
