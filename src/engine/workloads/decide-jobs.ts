import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../../api/types.ts';
import { parseCronSchedule } from '../../api/values/cron-schedule.ts';
import { formatIndexRanges } from '../../api/values/index-ranges.ts';
import type { DeclaredCronJob, DeclaredJob } from '../../api/values/job.ts';
import { jobPod, jobPodName, jobPodUID } from '../../api/values/job-pod.ts';
import { isPodReady } from '../../api/values/pod-conditions.ts';
import { podUIDHash } from '../config/load-manifest.ts';
import type { WantedPod } from '../config/wanted-pods.ts';
import type { JobStatus } from '../view/job-status.ts';
import { computeCron } from './compute-cron.ts';
import { computeJob, type DecisionTime, type JobDecision, type StatusOfPod } from './compute-job.ts';
import { cronStatus } from './cron-status.ts';
import { cronEvents, jobEvents } from './job-events.ts';
import { countSucceeded } from './records/job-record.ts';
import type { WorkloadCondition } from '../view/snapshot.ts';
import type { OwnerOf } from './pod-owner.ts';
import { nameTaken, replicaFailures } from './replica-failure.ts';
import type { WorkloadDecision } from './workload-decision.ts';
import type { WorkloadRecord } from './records/workload-record.ts';

interface Known {
  record: WorkloadRecord;
  /** The decision that is executed. Absent if there is none yet. */
  earlier: WorkloadDecision | undefined;
  ownerOf: OwnerOf;
  statusOf: StatusOfPod;
  /** Returns the pod with this UID that the agent has. Returns undefined if there is none. */
  podOf: (uid: string) => Pod | undefined;
  time: DecisionTime;
}

/** Decides about a Job or a CronJob, and says so in the words of all workloads. */
export function decideJobs(workload: DeclaredJob | DeclaredCronJob, known: Known): WorkloadDecision {
  return workload.kind === 'Job' ? decideJob(workload, known) : decideCron(workload, known);
}

function decideJob(job: DeclaredJob, { record, earlier, ownerOf, statusOf, podOf, time }: Known): WorkloadDecision {
  const { job: before } = record;
  const decision = withoutRenamed(computeJob(job, before, statusOf, time), podOf);
  const pods = wantedPods([decision], earlier);
  const status = jobStatus(decision, statusOf, time.now);
  const conditions = [...conditionsOf(decision), ...takenNames([decision], pods, ownerOf)];
  return {
    pods,
    status: { ...countsOf(job, [status]), conditions, job: status },
    ...checkAt(decision, time),
    ...(!isDeepStrictEqual(before, decision.record) && {
      record: { ...record, job: decision.record },
      events: jobEvents(job, before, decision.record),
    }),
  };
}

function decideCron(
  cron: DeclaredCronJob,
  { record, earlier, ownerOf, statusOf, podOf, time }: Known,
): WorkloadDecision {
  const { cron: before, runsAt, ...rest } = record;
  const schedule = parseCronSchedule(cron.schedule, cron.timeZone);
  const decision = computeCron(cron, schedule, before, statusOf, time, runsAt);
  const runs = decision.runs.map((run) => withoutRenamed(run, podOf));
  const jobs = runs.map((run) => ({ name: run.job.name, ...jobStatus(run, statusOf, time.now) }));
  const pods = wantedPods(runs, earlier);
  const conditions = takenNames(runs, pods, ownerOf);
  const { nextRunAt } = decision;
  const cronJob = {
    ...cronStatus(cron, decision.record),
    ...(nextRunAt !== undefined && { nextScheduleTime: nextRunAt }),
    jobs,
  };
  return {
    pods,
    status: { ...countsOf(cron, jobs), conditions, cronJob },
    ...checkAt(decision, time),
    ...(!isDeepStrictEqual(before, decision.record) && {
      record: { ...rest, cron: decision.record },
      events: cronEvents(cron, before, decision.record),
    }),
  };
}

function checkAt({ nextMs }: { nextMs?: number }, { now }: DecisionTime): Pick<WorkloadDecision, 'nextCheckAt'> {
  return nextMs === undefined ? {} : { nextCheckAt: now + nextMs };
}

/** Leaves out finished pods from before the node was renamed. They would run again under their new names. */
function withoutRenamed(decision: JobDecision, podOf: Known['podOf']): JobDecision {
  const { job, record } = decision;
  const pods = decision.pods.filter((id) => {
    const node = podOf(jobPodUID(job, id, podUIDHash))?.spec.nodeName;
    return record.slots[id.slot]?.state === 'active' || node === undefined || node === job.template.spec.nodeName;
  });
  return { ...decision, pods };
}

/** A pod's UID names its content, so that a pod stays the same object. */
function wantedPods(jobs: readonly JobDecision[], earlier: WorkloadDecision | undefined): WantedPod[] {
  const before = new Map<string, Pod>((earlier?.pods ?? []).map(({ pod }) => [pod.metadata.uid, pod]));
  return jobs.flatMap(({ job, pods }) =>
    pods.map((id) => ({ pod: before.get(jobPodUID(job, id, podUIDHash)) ?? jobPod(job, id, podUIDHash) })),
  );
}

/** The pods that should run, but whose names others have. */
function takenNames(jobs: readonly JobDecision[], wanted: readonly WantedPod[], ownerOf: OwnerOf): WorkloadCondition[] {
  const ids = jobs.flatMap(({ job, pods, record }) =>
    pods.map(({ slot }) => ({ name: jobPodName(job, slot), isActive: record.slots[slot]?.state === 'active' })),
  );
  const failures = wanted.flatMap(({ pod }, index) => {
    const { name = '', isActive = false } = ids[index] ?? {};
    const owner = isActive ? ownerOf(pod) : undefined;
    return owner === undefined ? [] : [nameTaken(name, owner.text)];
  });
  return replicaFailures(failures);
}

function jobStatus({ job, pods, record, retryMs }: JobDecision, statusOf: StatusOfPod, now: number): JobStatus {
  const { completions, isIndexed, isSuspended, backoffLimitPerIndex } = job.rules;
  const active = pods.filter(({ slot }) => record.slots[slot]?.state === 'active');
  const ready = active.filter((id) => isPodReady(statusOf(jobPodUID(job, id, podUIDHash))));
  return {
    ...(completions !== undefined && { completions }),
    active: active.length,
    ready: ready.length,
    succeeded: countSucceeded(job, record),
    failed: record.failed,
    terminating: record.stopping.length,
    ...(isIndexed && { completedIndexes: formatIndexRanges(record.succeeded) }),
    ...(backoffLimitPerIndex !== undefined && { failedIndexes: formatIndexRanges(record.failedIndexes) }),
    isSuspended,
    // A whole second, so that the same decision has the same status.
    ...(retryMs !== undefined && { nextRetryTime: Math.round((now + retryMs) / 1000) * 1000 }),
    ...(record.startedAt !== undefined && { startTime: record.startedAt }),
    ...(record.finishedAt !== undefined && { finishedAt: record.finishedAt }),
    ...(record.outcome && { result: record.outcome.result }),
  };
}

function countsOf({ kind, name, namespace }: DeclaredJob | DeclaredCronJob, jobs: readonly JobStatus[]) {
  const sum = (count: (job: JobStatus) => number): number => jobs.reduce((total, job) => total + count(job), 0);
  const current = sum(({ active }) => active);
  const desired = kind === 'Job' ? sum(({ completions = 1 }) => completions) : current;
  return { kind, namespace, name, desired, current, ready: sum(({ ready }) => ready), available: 0, updated: current };
}

/** kubelet: pkg/controller/job/job_controller.go newCondition */
function conditionsOf({ record }: JobDecision): WorkloadCondition[] {
  const { finishedAt, outcome, startedAt, suspendedAt } = record;
  const conditions: WorkloadCondition[] = [];
  const add = (type: string, status: 'True' | 'False', reason: string, message: string): void => {
    conditions.push({ type, status, reason, message });
  };
  if (suspendedAt !== undefined) {
    if (startedAt === undefined) add('Suspended', 'True', 'JobSuspended', 'Job suspended');
    else add('Suspended', 'False', 'JobResumed', 'Job resumed');
  }
  if (outcome === undefined) return conditions;
  const { reason, message } = outcome;
  add(outcome.result === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget', 'True', reason, message);
  if (finishedAt !== undefined) add(outcome.result, 'True', reason, message);
  return conditions;
}
