import type { CronSchedule } from '../../api/values/cron-schedule.ts';
import type { DeclaredCronJob } from '../../api/values/job.ts';
import { computeJob, type DecisionTime, type JobDecision, type StatusOfPod } from './compute-job.ts';
import { cronRun, manualRun, minManualTTLSeconds, runOnNode } from '../../api/values/job-pod.ts';
import { podUIDHash } from '../config/load-manifest.ts';
import { type CronRecord, type CronRunRecord, maxPeriods, type Period } from './records/cron-record.ts';

export interface CronDecision {
  /** Must be on disk before pods of these runs are declared. */
  record: CronRecord;
  /** The runs of the record with their pods, in its order. */
  runs: JobDecision[];
  /** Milliseconds until the next decision, if no pod changes and nobody sets the clock. Absent if nothing is due. */
  nextMs?: number;
  /** When the next run is due. Absent if none is, or if the CronJob is suspended. */
  nextRunAt?: number;
}

/** If the clock is set back by at most this, nothing runs until it has caught up. */
const maxCorrectionMs = 24 * 3600 * 1000;
/** More than the pods that a node runs by default. A run is a whole manifest in the record. */
const maxRuns = 120;

/**
 * Decides which runs of a CronJob begin, and which of them remain. kubelet: pkg/controller/cronjob/
 * cronjob_controllerv2.go syncCronJob
 *
 * A run is due once: the record has its period before it begins. If several are due, the newest begins and replaces the
 * others. In Kubernetes a clock that was set to a wrong date and back stops the schedule until that date.
 *
 * `requests`: times of the runs that operators requested. These start at once, regardless of the policies. They do not
 * affect the schedule, as with `kubectl create job --from`.
 */
export function computeCron(
  cron: DeclaredCronJob,
  schedule: CronSchedule,
  before: CronRecord | undefined,
  statusOf: StatusOfPod,
  time: DecisionTime,
  requests: readonly number[] = [],
): CronDecision {
  const { now } = time;
  const record = currentRecord(cron, before, now);

  // Step 1: what the pods of earlier runs did.
  let runs = record.runs.map(({ record: of, ...run }): Run => {
    const job = runOnNode(run.job, cron);
    return { ...run, job, decision: computeJob(job, of, statusOf, time) };
  });

  // Step 2: the newest run that is due begins, if the policies allow it.
  const begun = cron.isSuspended
    ? undefined
    : runToBegin(cron, schedule, record, runs.filter(blocksOthers).length, now);
  if (begun !== undefined) {
    if (cron.concurrencyPolicy === 'Replace') runs = runs.filter((run) => !blocksOthers(run));
    record.handled = withRun(record.handled, schedule, handledUntil(record, now), begun);
    record.lastScheduleTime = begun;
    const job = cronRun(cron, begun, podUIDHash);
    runs.push({ scheduledAt: begun, job, decision: computeJob(job, undefined, statusOf, time) });
  }

  for (const requestedAt of requests) {
    if (runs.some((run) => isManualRun(run) && run.scheduledAt === requestedAt)) continue;
    const job = manualRun(cron, requestedAt, podUIDHash);
    runs.push({ scheduledAt: requestedAt, isManual: true, job, decision: computeJob(job, undefined, statusOf, time) });
  }

  // Step 3: runs that are over remain within their limits.
  const lastSuccessfulTime = Math.max(record.lastSuccessfulTime ?? 0, ...runs.map(successTime));
  if (lastSuccessfulTime > 0) record.lastSuccessfulTime = lastSuccessfulTime;
  runs = withinLimits(cron, runs, time);
  record.runs = runs.map(({ decision, ...run }) => ({ ...run, record: decision.record }));

  const nextRunAt = cron.isSuspended ? undefined : nextAfter(schedule, handledUntil(record, now), now);
  const waits = [
    nextRunAt === undefined ? [] : nextRunAt - now,
    ...runs.map(({ decision }) => decision.nextMs ?? []),
    ...runs
      .filter(isManualRun)
      .map((run) => awaitedMs(run, time))
      .filter((ms) => ms > 0),
  ];
  const nextMs = Math.min(...waits.flat());
  return {
    record,
    runs: runs.map(({ decision }) => decision),
    ...(Number.isFinite(nextMs) && { nextMs }),
    ...(nextRunAt !== undefined && { nextRunAt }),
  };
}

interface Run extends Omit<CronRunRecord, 'record'> {
  decision: JobDecision;
}

const isActive = ({ decision }: Run): boolean => decision.record.finishedAt === undefined;
const isManualRun = ({ isManual }: Run): boolean => isManual === true;
const blocksOthers = (run: Run): boolean => isActive(run) && !isManualRun(run);

/** For how many more milliseconds somebody may wait for the result of a run that is over. */
function awaitedMs({ decision }: Run, { since }: DecisionTime): number {
  const { finishedAt } = decision.record;
  return finishedAt === undefined ? 0 : minManualTTLSeconds * 1000 - since(finishedAt);
}

function successTime({ decision }: Run): number {
  const { outcome, finishedAt = 0 } = decision.record;
  return outcome?.result === 'Complete' ? finishedAt : 0;
}

/** Returns the record of this schedule. What was due before the record began, or before all that it has, is handled. */
function currentRecord(cron: DeclaredCronJob, before: CronRecord | undefined, now: number): CronRecord {
  const schedule = `${cron.schedule} ${cron.timeZone ?? ''}`;
  const record: CronRecord = before ? structuredClone(before) : { schedule, handled: [], runs: [] };
  if (record.schedule === schedule && record.handled.some(([start]) => start <= now)) return record;
  return { ...record, schedule, handled: withPeriod(record.handled, [now - maxCorrectionMs, now]) };
}

/** Returns the time until which all runs are handled, as the clock shows it now. It may be a little later than now. */
function handledUntil({ handled }: CronRecord, now: number): number {
  return Math.max(...handled.filter(([start]) => start <= now).map(([, end]) => end));
}

/** Returns the run that begins now. Records why a run that is due does not. */
function runToBegin(
  { concurrencyPolicy, startingDeadlineSeconds = Infinity }: DeclaredCronJob,
  schedule: CronSchedule,
  record: CronRecord,
  active: number,
  now: number,
): number | undefined {
  const due = schedule.newest(handledUntil(record, now), now);
  if (due === undefined) return undefined;
  const isTooLate = now - due > startingDeadlineSeconds * 1000;
  const isBlocked = active >= (concurrencyPolicy === 'Forbid' ? 1 : concurrencyPolicy === 'Allow' ? maxRuns : Infinity);
  if (!isTooLate && !isBlocked) return due;
  record.missed = { at: due, because: isTooLate ? 'TooLate' : 'Active' };
  return undefined;
}

/** Returns the handled periods with a run that begins, when all before it are handled until `until`. */
function withRun(handled: readonly Period[], schedule: CronSchedule, until: number, begun: number): Period[] {
  const firstDue = schedule.next(until) ?? begun;
  return withPeriod(handled, [begun - firstDue <= maxCorrectionMs ? until : begun - maxCorrectionMs, begun]);
}

/** Adds a period. Periods that overlap or touch become one. */
function withPeriod(handled: readonly Period[], added: Period): Period[] {
  const merged: Period[] = [];
  for (const [start, end] of [...handled, added].sort(([a], [b]) => a - b)) {
    const before = merged.at(-1);
    if (before !== undefined && start <= before[1]) before[1] = Math.max(before[1], end);
    else merged.push([start, end]);
  }
  const [lowest, second, ...rest] = merged;
  if (lowest === undefined || second === undefined || merged.length <= maxPeriods) return merged;
  // Without the gap between them, runs in it are missed rather than repeated.
  return [[lowest[0], second[1]], ...rest];
}

/** Returns the first run that is not due yet. */
function nextAfter(schedule: CronSchedule, until: number, now: number): number | undefined {
  return schedule.next(schedule.newest(until, now) ?? until);
}

function withinLimits(
  { successfulJobsHistoryLimit, failedJobsHistoryLimit }: DeclaredCronJob,
  runs: readonly Run[],
  time: DecisionTime,
): Run[] {
  const over = runs.filter((run) => !isActive(run));
  const newest = (result: 'Complete' | 'Failed', limit: number): Run[] => {
    const ended = over.filter(({ decision }) => decision.record.outcome?.result === result);
    return ended.slice(Math.max(0, ended.length - Math.min(limit, maxRuns)));
  };
  const kept = [
    ...newest('Complete', successfulJobsHistoryLimit),
    ...newest('Failed', failedJobsHistoryLimit),
    ...over.filter(isManualRun).filter((run, index, manual) => index === manual.length - 1 || awaitedMs(run, time) > 0),
  ].filter(({ decision }) => decision.isExpired !== true);
  return runs.filter((run) => isActive(run) || kept.includes(run));
}
