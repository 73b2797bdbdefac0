import type { PodFailurePolicyRule } from 'kubernetes-types/batch/v1.js';
import { brokenRule, type FieldProblem } from '../decoding/manifest-object.ts';
import { checkCronSchedule, checkTimeZone, parseCronSchedule } from '../values/cron-schedule.ts';
import { FieldErrors } from '../values/field-errors.ts';
import { parseIndexRanges } from '../values/index-ranges.ts';
import { maxCompletions, maxParallelism } from '../values/job.ts';
import type { Workload, WorkloadSpec } from './workload-pod.ts';

/** kubelet: pkg/apis/batch/validation/validation.go */
const maxCronJobName = 52;
const maxRules = 20;

/**
 * Returns the broken rules of a Job, or of the Jobs of a CronJob. `path` is that of its spec. kubelet:
 * pkg/apis/batch/validation/validation.go ValidateJobSpec
 */
export function jobProblems(spec: WorkloadSpec, path: string): FieldProblem[] {
  const errors = new FieldErrors();
  const { backoffLimitPerIndex, completions, maxFailedIndexes, parallelism = 1 } = spec;
  const numbers = ['activeDeadlineSeconds', 'backoffLimit', 'backoffLimitPerIndex', 'maxFailedIndexes'] as const;
  for (const field of [...numbers, 'ttlSecondsAfterFinished'] as const) notNegative(errors, path, spec, field);
  checkRestartPolicy(errors, spec, path);
  const atMost = (field: string, count: number, max: number, what: string): void => {
    if (count > max) errors.invalid(`${path}.${field}`, count, `must be at most ${max}: ${what}`);
  };
  atMost('parallelism', parallelism, maxParallelism, 'one node runs the pods');
  atMost('completions', completions ?? 1, maxCompletions, 'the agent counts them one by one');
  errors.unsupportedUnless(`${path}.completionMode`, spec.completionMode ?? 'NonIndexed', ['NonIndexed', 'Indexed']);
  errors.unsupportedUnless(`${path}.podReplacementPolicy`, spec.podReplacementPolicy ?? 'Failed', [
    'TerminatingOrFailed',
    'Failed',
  ]);
  const isIndexed = spec.completionMode === 'Indexed';
  if (isIndexed && completions === undefined)
    errors.required(`${path}.completions`, 'must be set when completionMode is Indexed');
  if (backoffLimitPerIndex !== undefined && !isIndexed)
    errors.invalid(`${path}.backoffLimitPerIndex`, backoffLimitPerIndex, 'needs completionMode: Indexed');
  if (maxFailedIndexes !== undefined && backoffLimitPerIndex === undefined)
    errors.required(`${path}.backoffLimitPerIndex`, 'must be set when maxFailedIndexes is');
  if (maxFailedIndexes !== undefined && maxFailedIndexes > (completions ?? Infinity))
    errors.invalid(`${path}.maxFailedIndexes`, maxFailedIndexes, 'must not be greater than completions');
  checkFailurePolicy(errors, spec, path);
  checkSuccessPolicy(errors, spec, path);
  return errors.list.map(brokenRule);
}

/** Returns the broken rules of a CronJob, without those of its Jobs. */
export function cronProblems({ metadata, spec = {} }: Workload): FieldProblem[] {
  const errors = new FieldErrors();
  const { concurrencyPolicy = '', schedule = '', timeZone } = spec;
  const { name = '' } = metadata ?? {};
  if (name.length > maxCronJobName)
    errors.invalid('metadata.name', name, `must be no more than ${maxCronJobName} characters: Jobs get a longer name`);
  const [, zone] = /TZ=(\S*)/.exec(schedule) ?? [];
  const scheduleHint =
    zone === undefined
      ? 'Write "minute hour day month weekday", such as "*/5 * * * *".'
      : `Remove TZ=${zone} here${timeZone === undefined ? `, and write timeZone: ${zone}` : ': timeZone says it'}.`;
  const brokenSchedule = checkCronSchedule(schedule);
  if (schedule === '') errors.required('spec.schedule', 'must be set', scheduleHint);
  else if (brokenSchedule !== undefined) errors.invalid('spec.schedule', schedule, brokenSchedule, scheduleHint);
  const zoneHint = 'Write one such as Europe/Berlin or Etc/UTC, or leave it out for that of this machine.';
  const brokenZone = timeZone === undefined ? undefined : checkTimeZone(timeZone);
  if (brokenZone !== undefined) errors.invalid('spec.timeZone', timeZone, brokenZone, zoneHint);
  if (concurrencyPolicy !== '')
    errors.unsupportedUnless('spec.concurrencyPolicy', concurrencyPolicy, ['Allow', 'Forbid', 'Replace']);
  for (const field of ['startingDeadlineSeconds', 'successfulJobsHistoryLimit', 'failedJobsHistoryLimit'] as const)
    notNegative(errors, 'spec', spec, field);
  const warnings: FieldProblem[] = [];
  if (errors.list.length === 0 && parseCronSchedule(schedule, timeZone).next(0) === undefined)
    warnings.push({ field: 'spec.schedule', message: 'No day has this date: it never runs', severity: 'warning' });
  return [...errors.list.map(brokenRule), ...warnings];
}

function notNegative<K extends string>(
  errors: FieldErrors,
  path: string,
  spec: Partial<Record<K, number>>,
  field: K,
): void {
  const value = spec[field];
  if (value !== undefined && value < 0) errors.invalid(`${path}.${field}`, value, 'must not be negative');
}

function checkRestartPolicy(errors: FieldErrors, spec: WorkloadSpec, path: string): void {
  const written = spec.template?.spec?.restartPolicy ?? '';
  const field = `${path}.template.spec.restartPolicy`;
  const hint = 'The pod of a Job must complete.';
  if (written === '') errors.required(field, 'supported values: "OnFailure", "Never"', hint);
  else if (written === 'Always') errors.unsupportedUnless(field, written, ['OnFailure', 'Never']);
  const needsNever = ['backoffLimitPerIndex', 'podFailurePolicy'] as const;
  const needing = needsNever.find((name) => spec[name] !== undefined);
  if (written === 'OnFailure' && needing !== undefined) errors.invalid(field, written, `${needing} needs Never`);
}

function checkFailurePolicy(errors: FieldErrors, spec: WorkloadSpec, path: string): void {
  const rules = spec.podFailurePolicy?.rules ?? [];
  const { containers = [], initContainers = [] } = spec.template?.spec ?? {};
  const names = [...containers, ...initContainers].map(({ name }) => name);
  if (rules.length > maxRules) errors.tooMany(`${path}.podFailurePolicy.rules`, rules.length, maxRules);
  for (const [index, rule] of rules.entries())
    checkFailureRule(errors, rule, `${path}.podFailurePolicy.rules[${index}]`, {
      names,
      hasIndexes: spec.backoffLimitPerIndex !== undefined,
    });
}

function checkFailureRule(
  errors: FieldErrors,
  { action, onExitCodes, onPodConditions = [] }: PodFailurePolicyRule,
  path: string,
  { names, hasIndexes }: { names: readonly string[]; hasIndexes: boolean },
): void {
  errors.requiredOneOf(`${path}.action`, action, ['FailJob', 'FailIndex', 'Ignore', 'Count']);
  if (action === 'FailIndex' && !hasIndexes) errors.invalid(`${path}.action`, action, 'needs backoffLimitPerIndex');
  const isBoth = onExitCodes !== undefined && onPodConditions.length > 0;
  if (isBoth || (onExitCodes === undefined && onPodConditions.length === 0))
    errors.required(path, 'needs either onExitCodes or onPodConditions');
  for (const [index, { type, status = '' }] of onPodConditions.entries()) {
    if (type === '') errors.required(`${path}.onPodConditions[${index}].type`);
    if (status !== '')
      errors.unsupportedUnless(`${path}.onPodConditions[${index}].status`, status, ['True', 'False', 'Unknown']);
  }
  if (onExitCodes === undefined) return;
  // A manifest may lack every field of these.
  const codes: Partial<typeof onExitCodes> = onExitCodes;
  const { containerName, operator = '', values = [] } = codes;
  errors.requiredOneOf(`${path}.onExitCodes.operator`, operator, ['In', 'NotIn']);
  if (values.length === 0) errors.required(`${path}.onExitCodes.values`, 'needs at least one exit code');
  if (operator === 'In' && values.includes(0))
    errors.invalid(`${path}.onExitCodes.values`, 0, 'must not be 0: the pod has succeeded then');
  if (containerName !== undefined && !names.includes(containerName))
    errors.notFound(`${path}.onExitCodes.containerName`, containerName, names);
}

function checkSuccessPolicy(errors: FieldErrors, spec: WorkloadSpec, path: string): void {
  if (spec.successPolicy === undefined) return;
  const policy: Partial<typeof spec.successPolicy> = spec.successPolicy;
  const { rules = [] } = policy;
  const field = `${path}.successPolicy`;
  if (spec.completionMode !== 'Indexed') {
    errors.forbidden(field, 'needs completionMode: Indexed');
    return;
  }
  if (rules.length === 0) errors.required(`${field}.rules`, 'needs at least one rule');
  if (rules.length > maxRules) errors.tooMany(`${field}.rules`, rules.length, maxRules);
  for (const [index, { succeededIndexes, succeededCount }] of rules.entries()) {
    const at = `${field}.rules[${index}]`;
    if (succeededIndexes === undefined && succeededCount === undefined)
      errors.required(at, 'needs succeededIndexes or succeededCount');
    const { completions = 0 } = spec;
    if (succeededCount !== undefined && (succeededCount < 1 || succeededCount > completions))
      errors.invalid(`${at}.succeededCount`, succeededCount, `must be within 1-${completions}`);
    if (succeededIndexes === undefined) continue;
    const last = parseIndexRanges(succeededIndexes)?.at(-1)?.[1] ?? Infinity;
    if (last >= completions)
      errors.invalid(
        `${at}.succeededIndexes`,
        succeededIndexes,
        `must be ascending indexes below ${completions}, such as 0-2,5`,
      );
  }
}
