import type { PersistentVolumeClaim } from 'kubernetes-types/core/v1.js';
import { checkCronSchedule } from '../values/cron-schedule.ts';
import { brokenRule, type FieldProblem } from '../decoding/manifest-object.ts';
import { validateClaim } from '../validation/validate-storage-object.ts';
import { helmHookProblems, isOtherHook } from '../validation/helm-hooks.ts';
import { FieldErrors } from '../values/field-errors.ts';
import { canonicalObject } from './canonical-form.ts';
import { claimNameOf, specWithTemplate, type Workload, type WorkloadSpec } from './workload-pod.ts';

/**
 * Errors of a workload, and warnings about its fields that have no effect on a single pod: nothing creates replicas,
 * replaces failed pods or rolls out changes. The template is checked as a pod.
 */
export function workloadProblems(workload: Workload): FieldProblem[] {
  const { spec, path } = specWithTemplate(workload);
  if (!spec.template) return [refuse(`${path}.template`, 'Required value: must be set')];
  return [
    ...ignoredFields(workload),
    ...helmHookProblems(workload.metadata?.annotations),
    ...cronProblems(workload),
    ...countProblems(spec, path),
    ...selectorProblems(spec, path),
    ...claimProblems(workload),
    ...(isJob(workload) ? jobProblems(spec, path) : longRunningProblems(spec, path)),
  ];
}

/** True if the workload currently wants no pod, because it is suspended, scaled to zero, or a hook for another time. */
export function wantsNoPod(workload: Workload): boolean {
  if (isOtherHook(workload.metadata?.annotations)) return true;
  const { replicas, completions, parallelism, suspend } = specWithTemplate(workload).spec;
  return suspend === true || workload.spec?.suspend === true || [replicas, completions, parallelism].includes(0);
}

/** Fields that take effect, or that have a separate problem message. */
const namedFields: ReadonlySet<string> = new Set([
  'activeDeadlineSeconds',
  'backoffLimit',
  'completions',
  'jobTemplate',
  'ordinals',
  'parallelism',
  'replicas',
  // It only serves to find the pods of the workload.
  'selector',
  'suspend',
  'template',
  'volumeClaimTemplates',
]);

/**
 * Fields for rollouts, for the order of replicas or for objects of a cluster. A single pod on a single node loses
 * nothing without them.
 */
const harmlessFields: ReadonlySet<string> = new Set([
  'completionMode',
  'failedJobsHistoryLimit',
  'manualSelector',
  'minReadySeconds',
  'persistentVolumeClaimRetentionPolicy',
  'podManagementPolicy',
  'podReplacementPolicy',
  'progressDeadlineSeconds',
  'revisionHistoryLimit',
  'serviceName',
  'strategy',
  'successfulJobsHistoryLimit',
  'ttlSecondsAfterFinished',
  'updateStrategy',
]);

/** One line for the replicas and the fields that have an effect in a cluster, one for the harmless fields. */
function ignoredFields(workload: Workload): FieldProblem[] {
  const { spec } = specWithTemplate(workload);
  const { replicas = 1 } = spec;
  const unnamed = Object.keys({ ...workload.spec, ...spec }).filter((field) => !namedFields.has(field));
  const missed = unnamed.filter((field) => !harmlessFields.has(field));
  const harmless = [
    ...unnamed.filter((field) => harmlessFields.has(field)),
    ...Object.keys(spec.template?.metadata ?? {})
      .filter((field) => field !== 'labels' && field !== 'annotations')
      .map((field) => `template.metadata.${field}`),
  ];
  const count = replicas > 1 ? ` instead of ${replicas} replicas` : '';
  const rest = missed.length === 0 ? '' : `; ignored: ${missed.join(', ')}`;
  const what = `A ${workload.kind} runs as one pod here`;
  return [
    ...(count === '' && rest === '' ? [] : [warn('kind', `${what}${count}${rest}`)]),
    ...(harmless.length === 0 ? [] : [note('kind', `${what}, which needs no ${harmless.join(', ')}`)]),
  ];
}

function countProblems(spec: WorkloadSpec, path: string): FieldProblem[] {
  return (['replicas', 'completions', 'parallelism'] as const).flatMap((field) => {
    const count = spec[field];
    if (count === undefined || count === 1) return [];
    // The line about the kind already has the number.
    if (field === 'replicas' && count > 1) return [];
    const place = `${path}.${field}`;
    if (count < 0) return [refuse(place, `Invalid value: ${count}: must not be negative`)];
    return [warn(place, count === 0 ? `${field} is 0: no pod is declared` : `runs one pod instead of ${count}`)];
  });
}

function claimProblems(workload: Workload): FieldProblem[] {
  const { volumeClaimTemplates = [] } = specWithTemplate(workload).spec;
  const errors = new FieldErrors();
  for (const [index, template] of volumeClaimTemplates.entries()) {
    const namespace = workload.metadata?.namespace ?? '';
    const inTemplate = new FieldErrors();
    // Safe cast: canonicalObject copies exactly the fields of the type.
    const claim = canonicalObject('PersistentVolumeClaim', template) as PersistentVolumeClaim;
    const name = claimNameOf(workload, template);
    validateClaim(inTemplate, { ...claim.metadata, name, namespace: namespace === '' ? 'default' : namespace }, claim);
    if ((template.metadata?.name ?? '') === '') inTemplate.required('metadata.name', 'a name is needed');
    const path = `spec.volumeClaimTemplates[${index}]`;
    errors.addAll(inTemplate.list.map((error) => ({ ...error, field: `${path}.${error.field}` })));
  }
  return errors.list.map(brokenRule);
}

/** Warns about a selector that does not match the workload's own pods, which a cluster would refuse. */
function selectorProblems({ selector, template }: WorkloadSpec, path: string): FieldProblem[] {
  const wanted: unknown = selector && 'matchLabels' in selector ? selector.matchLabels : selector;
  if (typeof wanted !== 'object' || wanted === null) return [];
  const labels = new Map(Object.entries(template?.metadata?.labels ?? {}));
  const missing = Object.entries(wanted).find(([key, value]) => typeof value === 'string' && labels.get(key) !== value);
  if (!missing) return [];
  const message = `The template has no label ${missing.join('=')}: a cluster would refuse this`;
  return [warn(`${path}.selector`, message)];
}

function isJob({ kind }: Workload): boolean {
  return kind === 'Job' || kind === 'CronJob';
}

function jobProblems({ backoffLimit, suspend, template }: WorkloadSpec, path: string): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const written = template?.spec?.restartPolicy ?? '';
  const restartPolicy = written === '' ? 'Always' : written;
  if (suspend === true) problems.push(warn(`${path}.suspend`, 'The Job is suspended: no pod is declared'));
  if (restartPolicy === 'Always') {
    const broken = written === '' ? 'Required value' : 'Unsupported value: "Always"';
    const field = `${path}.template.spec.restartPolicy`;
    problems.push(
      refuse(field, `${broken}: supported values: "OnFailure", "Never"`, 'The pod of a Job must complete.'),
    );
  } else if (restartPolicy === 'OnFailure') {
    problems.push(warn(`${path}.backoffLimit`, 'Containers that fail are restarted without a limit'));
  } else if (backoffLimit !== undefined && backoffLimit > 0) {
    problems.push(warn(`${path}.backoffLimit`, 'A pod that fails is not run again'));
  }
  return problems;
}

const jobHint = 'Write a Job for a pod that completes.';

/** kubelet: pkg/apis/apps/validation/validation.go ValidatePodTemplateSpecForReplicaSet */
function longRunningProblems({ template }: WorkloadSpec, path: string): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const { restartPolicy = 'Always', activeDeadlineSeconds } = template?.spec ?? {};
  if (restartPolicy === 'Never' || restartPolicy === 'OnFailure') {
    const field = `${path}.template.spec.restartPolicy`;
    problems.push(refuse(field, `Unsupported value: "${restartPolicy}": supported values: "Always"`, jobHint));
  }
  if (activeDeadlineSeconds !== undefined) {
    const field = `${path}.template.spec.activeDeadlineSeconds`;
    problems.push(refuse(field, 'Forbidden: pods of this kind may not end', jobHint));
  }
  return problems;
}

function cronProblems({ kind, spec = {} }: Workload): FieldProblem[] {
  if (kind !== 'CronJob') return [];
  const { schedule = '', suspend } = spec;
  const wrong = schedule === '' ? 'Required value: must be set' : brokenSchedule(schedule);
  const hint = 'Write "minute hour day month weekday", such as "*/5 * * * *".';
  return [
    ...(wrong === undefined ? [] : [refuse('spec.schedule', wrong, hint)]),
    ...(suspend === true ? [warn('spec.suspend', 'The CronJob is suspended: no pod is declared')] : []),
  ];
}

function brokenSchedule(schedule: string): string | undefined {
  const message = checkCronSchedule(schedule);
  return message === undefined ? undefined : `Invalid value: ${JSON.stringify(schedule)}: ${message}`;
}

function note(field: string, message: string): FieldProblem {
  return { field, message, severity: 'note' };
}

function warn(field: string, message: string): FieldProblem {
  return { field, message, severity: 'warning' };
}

function refuse(field: string, message: string, hint?: string): FieldProblem {
  return { field, message, ...(hint !== undefined && { hint }), severity: 'error' };
}
