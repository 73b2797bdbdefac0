import { humanDuration } from '../../api/values/duration.ts';
import { appliedName } from '../../engine/applied/applied-object.ts';
import type { Evidence } from '../../engine/explain/explanation.ts';
import { reasons } from '../../engine/view/reasons.ts';
import type { WorkloadCondition, WorkloadSnapshot } from '../../engine/view/snapshot.ts';

/** Why a workload is in its state. */
export interface WorkloadExplanation {
  namespace: string;
  /** Such as `deployment.apps/web`. */
  name: string;
  /** True if nothing needs to be done. */
  isGood: boolean;
  cause: string;
  evidence: Evidence[];
  /** Remedies, each a command. Those for its pods are in the explanations of the pods. */
  fixes: string[];
}

/** Explains a workload by its counts and conditions. `now` is in milliseconds since the epoch. */
export function explainWorkload(workload: WorkloadSnapshot, now: number): WorkloadExplanation {
  const { namespace, conditions } = workload;
  const name = appliedName(workload);
  const bad = conditions.filter(isBad);
  const {
    cause,
    isGood,
    fixes = [],
  } = explainUnwritten(workload) ??
  (workload.cronJob
    ? explainCron(workload, now)
    : workload.job
      ? explainJob(workload, now)
      : explainReplicas(workload));
  const evidence = bad.map(({ type, reason, message }) => ({
    from: `condition ${type}`,
    text: `${reason}: ${message}`,
  }));
  return { namespace, name, isGood: isGood && bad.length === 0, cause, evidence, fixes };
}

interface Finding {
  cause: string;
  isGood: boolean;
  fixes?: string[];
}

/** Its record must be on disk before a pod of a Job starts. */
function explainUnwritten({ conditions }: WorkloadSnapshot): Finding | undefined {
  const unwritten = conditions.find(({ reason }) => reason === reasons.recordNotWritten);
  const fixes = ['Make room on the disk, or mount it writable: df -h; df -i; findmnt'];
  return unwritten && { cause: unwritten.message, isGood: false, fixes };
}

function explainReplicas({ kind, name, desired, updated, available, conditions }: WorkloadSnapshot): Finding {
  const word = `${kind.toLowerCase()}/${name}`;
  const has = (meant: string): boolean => conditions.some(({ reason }) => reason === meant);
  const counts = `${available} of ${desired} pods are available`;
  const isGood = available >= desired;
  if (updated >= desired) return { cause: counts, isGood };
  const cause = `${counts}, ${updated} of them up to date`;
  if (has('DeploymentPaused'))
    return { cause, isGood, fixes: [`Continue its rollout: kubelet-ts rollout resume ${word}`] };
  if (has('OnDelete')) return { cause, isGood, fixes: [`Update its pods: kubelet-ts restart ${word}`] };
  return has('ProgressDeadlineExceeded')
    ? { cause, isGood: false, fixes: [`Go back to the earlier revision: kubelet-ts rollout undo ${word}`] }
    : { cause, isGood };
}

function explainJob({ job, conditions }: WorkloadSnapshot, now: number): Finding {
  const { result, isSuspended, active = 0, succeeded = 0, failed = 0, completions = 1, nextRetryTime } = job ?? {};
  const counts = `${succeeded} of ${completions} pods succeeded, ${failed} failed, ${active} are active`;
  const why = conditions.find(({ type }) => type === 'Failed' || type === 'FailureTarget')?.message;
  if (result === 'Failed') return { cause: `it failed: ${why ?? counts}`, isGood: false };
  if (result === 'Complete') return { cause: 'it is complete', isGood: true };
  if (isSuspended === true)
    return { cause: 'it is suspended', isGood: false, fixes: ['Set suspend: false in its manifest.'] };
  const retry =
    nextRetryTime === undefined ? '' : `, the next try is in ${humanDuration(Math.max(0, nextRetryTime - now))}`;
  return { cause: `${counts}${retry}`, isGood: failed === 0 };
}

function explainCron({ name, cronJob }: WorkloadSnapshot, now: number): Finding {
  const { isSuspended = false, jobs = [], nextScheduleTime } = cronJob ?? {};
  if (isSuspended) {
    const fixes = ['Set suspend: false in its manifest.', `Run it once: kubelet-ts run-once cronjob/${name}`];
    return { cause: 'it is suspended', isGood: false, fixes };
  }
  const next = nextScheduleTime === undefined ? 'never' : `in ${humanDuration(nextScheduleTime - now)}`;
  const active = jobs.filter(({ finishedAt }) => finishedAt === undefined).length;
  const last = jobs.findLast(({ result }) => result !== undefined);
  const lastText =
    last === undefined ? '' : `; its last run ${last.name} ${last.result === 'Failed' ? 'failed' : 'is complete'}`;
  const cause = `${active === 0 ? 'it runs next' : `${active} ${active === 1 ? 'run is' : 'runs are'} active, the next is`} ${next}${lastText}`;
  return { cause, isGood: last?.result !== 'Failed' };
}

/** A failed Job has both Failed and FailureTarget, with the same message. */
function isBad({ type, status }: WorkloadCondition): boolean {
  if (type === 'Available' || type === 'Progressing') return status === 'False';
  return (type === 'ReplicaFailure' || type === 'Failed') && status === 'True';
}
