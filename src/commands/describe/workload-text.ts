import { humanDuration } from '../../api/values/duration.ts';
import type { DeclaredCronJob, JobRules } from '../../api/values/job.ts';
import { podStatusText } from '../../api/values/pod-printer.ts';
import { isPodReady } from '../../api/values/pod-conditions.ts';
import type { DeclaredWorkload, ReplicatedWorkload } from '../../api/values/workload.ts';
import type { JobStatus } from '../../engine/view/job-status.ts';
import type { PodSnapshot, WorkloadCondition } from '../../engine/view/snapshot.ts';
import { formatTable } from '../../text/format-table.ts';
import { printable } from '../../text/visible-text.ts';
import type { ShownJob } from '../workload/job-tables.ts';
import type { ListedWorkload } from '../workload/recorded-workloads.ts';
import { containersText } from './containers-text.ts';
import { fields, timeText } from './field-text.ts';
import { objectEventsText } from './history-text.ts';
import type { ListedEvent } from '../objects/listed-event.ts';

type Row = readonly [label: string, value: string | number | undefined];

/** A workload as its manifest declares it, with its file or URL, or why that cannot be read. */
export type Declaration = { workload: DeclaredWorkload; where: string } | { unreadBecause: string };

interface Parts {
  declared: Declaration;
  /** Undefined without an agent. */
  pods: readonly PodSnapshot[] | undefined;
  events: readonly ListedEvent[];
}

/** The description of a workload in the layout of `kubectl describe`. `now` is in milliseconds since the epoch. */
export async function workloadText(workload: ListedWorkload, parts: Parts, now: number): Promise<string> {
  const { namespace, name, conditions, cronJob } = workload;
  const { declared } = parts;
  const about: Row[] = [
    ['Name', name],
    ['Namespace', namespace],
    ['Declared By', 'where' in declared ? declared.where : undefined],
    ...rowsOf(workload, 'workload' in declared ? declared.workload : undefined, now),
  ];
  return [fields(0, about), await restText(cronJob ? [] : conditions, parts, now)].join('');
}

/** The description of a Job, also of one that a CronJob runs. */
export async function jobText(
  { namespace, name, status, conditions, owner }: ShownJob,
  parts: Parts,
  now: number,
): Promise<string> {
  const { declared } = parts;
  const rules = 'workload' in declared && 'rules' in declared.workload ? declared.workload.rules : undefined;
  const about: Row[] = [
    ['Name', name],
    ['Namespace', namespace],
    ['Controlled By', owner.kind === 'CronJob' ? `CronJob/${owner.name}` : undefined],
    ['Declared By', 'where' in declared ? declared.where : undefined],
    ...jobRows(status, rules, now),
  ];
  return [fields(0, about), await restText(conditions, parts, now)].join('');
}

async function restText(
  conditions: readonly WorkloadCondition[],
  { declared, pods, events }: Parts,
  now: number,
): Promise<string> {
  return [
    templateText(declared, now),
    await conditionsText(conditions),
    await podsText(pods),
    await objectEventsText(events, now),
  ].join('');
}

function rowsOf(workload: ListedWorkload, declared: DeclaredWorkload | undefined, now: number): readonly Row[] {
  if (workload.cronJob) return cronRows(workload, declared?.kind === 'CronJob' ? declared : undefined, now);
  return [
    ['Replicas', countsText(workload)],
    ...(declared !== undefined && 'update' in declared ? updateRows(declared) : []),
  ];
}

function countsText({ desired, updated, current, available }: ListedWorkload): string {
  if (updated === undefined || current === undefined || available === undefined) return `${desired} desired`;
  const counts = `${desired} desired | ${updated} updated | ${current} total | ${available} available`;
  return `${counts} | ${Math.max(0, desired - available)} unavailable`;
}

/** kubectl: pkg/describe DescribeDeployment, describeStatefulSet */
function updateRows({ kind, minReadySeconds, isPaused, update }: ReplicatedWorkload): readonly Row[] {
  const { type, maxSurge = '25%', maxUnavailable = '25%', partition } = update;
  const isRolling = type === 'RollingUpdate';
  const limits = kind === 'StatefulSet' ? '' : `${maxUnavailable} max unavailable, ${maxSurge} max surge`;
  return [
    ['Paused', isPaused ? 'True' : undefined],
    [kind === 'Deployment' ? 'StrategyType' : 'Update Strategy', type],
    ['MinReadySeconds', minReadySeconds],
    ['RollingUpdateStrategy', isRolling ? limits : undefined],
    ['Partition', isRolling && kind === 'StatefulSet' ? partition : undefined],
    ['Pod Management Policy', kind === 'StatefulSet' ? (update.isOrdered ? 'OrderedReady' : 'Parallel') : undefined],
  ];
}

/** kubectl: pkg/describe describeCronJob */
function cronRows({ cronJob }: ListedWorkload, declared: DeclaredCronJob | undefined, now: number): readonly Row[] {
  if (cronJob === undefined) return [];
  const { schedule, timeZone, isSuspended, lastScheduleTime, lastSuccessfulTime, nextScheduleTime, jobs } = cronJob;
  const active = jobs.filter(({ finishedAt }) => finishedAt === undefined).map(({ name }) => name);
  const deadline = declared?.startingDeadlineSeconds;
  return [
    ['Schedule', schedule],
    ['Time Zone', timeZone ?? '<unset>'],
    ['Concurrency Policy', declared?.concurrencyPolicy],
    ['Suspend', isSuspended ? 'True' : 'False'],
    ['Successful Job History Limit', declared?.successfulJobsHistoryLimit],
    ['Failed Job History Limit', declared?.failedJobsHistoryLimit],
    ['Starting Deadline Seconds', declared && (deadline === undefined ? '<unset>' : `${deadline}s`)],
    ['Last Schedule Time', lastScheduleTime === undefined ? '<unset>' : timeText(lastScheduleTime)],
    ['Last Successful Time', lastSuccessfulTime && timeText(lastSuccessfulTime)],
    [
      'Next Schedule Time',
      nextScheduleTime && `${timeText(nextScheduleTime)} (in ${humanDuration(nextScheduleTime - now)})`,
    ],
    ['Active Jobs', active.join(', ') || '<none>'],
    [
      'Kept Jobs',
      jobs
        .map(({ name }) => name)
        .filter((name) => !active.includes(name))
        .join(', '),
    ],
  ];
}

/** kubectl: pkg/describe describeJob */
function jobRows(status: JobStatus, rules: JobRules | undefined, now: number): readonly Row[] {
  const { active, ready, succeeded, failed, startTime, finishedAt, isSuspended, completedIndexes, failedIndexes } =
    status;
  const deadline = rules?.activeDeadlineSeconds;
  return [
    ['Parallelism', rules?.parallelism],
    ['Completions', status.completions ?? '<unset>'],
    ['Completion Mode', rules && (rules.isIndexed ? 'Indexed' : 'NonIndexed')],
    ['Suspend', isSuspended ? 'true' : 'false'],
    ['Backoff Limit', rules?.backoffLimit],
    ['Active Deadline Seconds', deadline === undefined ? undefined : `${deadline}s`],
    ['Start Time', startTime && timeText(startTime)],
    ['Completed At', finishedAt && status.result === 'Complete' ? timeText(finishedAt) : undefined],
    ['Duration', startTime && humanDuration((finishedAt ?? now) - startTime)],
    ['Pods Statuses', `${active} Active (${ready} Ready) / ${succeeded} Succeeded / ${failed} Failed`],
    ['Completed Indexes', completedIndexes],
    ['Failed Indexes', failedIndexes],
  ];
}

function templateText(declared: Declaration, now: number): string {
  if ('unreadBecause' in declared) return fields(0, [['Pod Template', `<unknown>: ${declared.unreadBecause}`]]);
  const { metadata, spec } = declared.workload.template;
  const labels = Object.entries(metadata.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  const text = [
    fields(0, [['Labels', labels.join('\n') || '<none>']]),
    containersText('Init Containers', spec.initContainers ?? [], [], now, { isTemplate: true }),
    containersText('Containers', spec.containers, [], now, { isTemplate: true }),
  ].join('');
  return `Pod Template:\n${indented(text)}`;
}

/** The message says what a reason alone does not, such as which pods do not run. */
async function conditionsText(conditions: readonly WorkloadCondition[]): Promise<string> {
  if (conditions.length === 0) return '';
  const rows = conditions.map(({ type, status, reason, message }) => [type, status, reason, printable(message)]);
  const head = ['Type', 'Status', 'Reason', 'Message'];
  return `Conditions:\n${indented(await formatTable([head, head.map((title) => '-'.repeat(title.length)), ...rows]))}`;
}

async function podsText(pods: readonly PodSnapshot[] | undefined): Promise<string> {
  if (pods === undefined) return 'Pods:   <unknown>\n';
  if (pods.length === 0) return 'Pods:   <none>\n';
  const rows = pods.map(({ pod, worker }) => [
    printable(pod.metadata.name),
    isPodReady(pod.status) ? 'Ready' : '',
    printable(podStatusText(pod, worker)),
  ]);
  return `Pods:\n${indented(await formatTable(rows))}`;
}

const indented = (text: string): string => text.replace(/^(?=.)/gm, '  ');
