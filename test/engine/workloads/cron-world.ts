import { podUIDHash } from '../../../src/engine/config/load-manifest.ts';
import type { PodStatus } from '../../../src/api/types.ts';
import { parseCronSchedule } from '../../../src/api/values/cron-schedule.ts';
import type { DeclaredCronJob } from '../../../src/api/values/job.ts';
import { computeCron, type CronDecision } from '../../../src/engine/workloads/compute-cron.ts';
import type { CronRecord } from '../../../src/engine/workloads/records/cron-record.ts';
import { jobPodUID } from '../../../src/api/values/job-pod.ts';
import { makePod } from '../../builders/pods.ts';
import { rules } from './job-world.ts';

export const minuteMs = 60_000;

export function makeCron(changes: Partial<DeclaredCronJob> = {}): DeclaredCronJob {
  return {
    kind: 'CronJob',
    namespace: 'default',
    name: 'dump',
    schedule: '*/10 * * * *',
    timeZone: 'Etc/UTC',
    concurrencyPolicy: 'Allow',
    isSuspended: false,
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
    rules: { ...rules, backoffLimit: 0 },
    template: makePod({ metadata: { name: 'dump-edge1', uid: 'c0'.repeat(16) }, spec: { restartPolicy: 'Never' } }),
    ...changes,
  };
}

/** At which point an agent is killed. */
export type Kill = 'before the record is written' | 'before pods are declared';

/** A CronJob on a machine whose clock can be set, with an agent that decides only when it must. */
export class CronWorld {
  /** Wall time. */
  now: number;
  record: CronRecord | undefined;
  decision: CronDecision | undefined;
  /** When operators requested runs that have not begun. */
  requests: number[] = [];
  /** The runs whose pod started, by the time they were due, in the order of their starts. */
  readonly begun: number[] = [];
  private readonly statuses = new Map<string, PodStatus>();
  private readonly started = new Set<string>();
  private wakesAt = 0;

  constructor(
    public cron: DeclaredCronJob,
    start: string,
  ) {
    this.now = Date.parse(`2026-${start}Z`);
    this.decide();
  }

  decide(kill?: Kill): void {
    const time = { now: this.now, since: (stamp: number) => this.now - stamp };
    const schedule = parseCronSchedule(this.cron.schedule, this.cron.timeZone);
    const statusOf = (uid: string): PodStatus | undefined => this.statuses.get(uid);
    const decision = computeCron(this.cron, schedule, this.record, statusOf, time, this.requests);
    if (kill === 'before the record is written') return;
    this.record = JSON.parse(JSON.stringify(decision.record)) as CronRecord;
    if (kill !== undefined) return;
    this.decision = decision;
    this.wakesAt = this.now + (decision.nextMs ?? Infinity);
    const declared = decision.runs.flatMap(({ job, pods }, index) =>
      pods.map((id) => ({
        uid: jobPodUID(job, id, podUIDHash),
        scheduledAt: decision.record.runs[index]?.scheduledAt ?? 0,
      })),
    );
    for (const uid of this.statuses.keys()) if (!declared.some((pod) => pod.uid === uid)) this.statuses.delete(uid);
    for (const { uid, scheduledAt } of declared) {
      if (this.statuses.has(uid)) continue;
      this.statuses.set(uid, { phase: 'Running' });
      if (!this.started.has(uid)) this.begun.push(scheduledAt);
      else if (!this.isOver(uid)) throw new Error(`the run of ${shown(scheduledAt)} starts twice`);
      this.started.add(uid);
    }
  }

  /** Lets minutes pass. The agent decides when it asked for it. */
  pass(minutes: number): void {
    for (let minute = 0; minute < minutes; minute++) {
      this.now += minuteMs;
      if (this.now >= this.wakesAt) this.decide();
    }
  }

  /** Sets the clock, which the agent notices. */
  setClock(minutes: number): void {
    this.now += minutes * minuteMs;
    this.decide();
  }

  /** Switches the machine off for some minutes. */
  off(minutes: number): void {
    this.now += minutes * minuteMs;
    this.decide();
  }

  /** Removes the manifest, and adds it again. */
  declareAgain(): void {
    this.record = undefined;
    this.statuses.clear();
    this.started.clear();
    this.decide();
  }

  change(changes: Partial<DeclaredCronJob>): void {
    this.cron = { ...this.cron, ...changes };
    this.decide();
  }

  /** Ends the pod of an active run, which the agent notices. */
  end(scheduledAt: number, phase?: 'Succeeded' | 'Failed'): void {
    this.finish(scheduledAt, phase);
    this.decide();
  }

  /** Ends the pod of an active run. */
  finish(scheduledAt: number, phase: 'Succeeded' | 'Failed' = 'Succeeded'): void {
    const run = this.record?.runs.find((one) => one.scheduledAt === scheduledAt);
    if (run === undefined) throw new Error(`the run of ${shown(scheduledAt)} is gone`);
    this.statuses.set(jobPodUID(run.job, { slot: 0, attempt: 0 }, podUIDHash), { phase });
  }

  /** The active runs, by the time they were due. */
  active(): number[] {
    return (this.record?.runs ?? [])
      .filter(({ record }) => record.finishedAt === undefined)
      .map((run) => run.scheduledAt);
  }

  /** The runs that are over and kept, by the time they were due. */
  over(): number[] {
    return (this.record?.runs ?? [])
      .filter(({ record }) => record.finishedAt !== undefined)
      .map((run) => run.scheduledAt);
  }

  private isOver(uid: string): boolean {
    return (this.record?.runs ?? []).some(
      ({ job, record }) =>
        jobPodUID(job, { slot: 0, attempt: 0 }, podUIDHash) === uid && record.finishedAt !== undefined,
    );
  }
}

/** A time such as `11-29T12:10`. */
export function shown(time: number): string {
  return new Date(time).toISOString().slice(5, 16);
}
