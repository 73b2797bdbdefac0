import type { PersistentVolumeClaim } from 'kubernetes-types/core/v1.js';
import { type CountOrPercent, maxReplicas } from '../values/workload.ts';
import { brokenRule, type FieldProblem } from '../decoding/manifest-object.ts';
import { validateClaim } from '../validation/validate-storage-object.ts';
import { helmHookProblems } from '../validation/helm-hooks.ts';
import { FieldErrors } from '../values/field-errors.ts';
import { checkDNS1123Label } from '../values/names.ts';
import { cronProblems, jobProblems } from './job-problems.ts';
import { canonicalObject } from './canonical-form.ts';
import { claimNameOf, specWithTemplate, type Workload, type WorkloadSpec } from './workload-pod.ts';

/** Errors of a workload, and warnings about its fields that have no effect here. The template is checked as a pod. */
export function workloadProblems(workload: Workload): FieldProblem[] {
  const { spec, path } = specWithTemplate(workload);
  if (!spec.template) return [refuse(`${path}.template`, 'Required value: must be set')];
  return [
    ...ignoredFields(workload),
    ...helmHookProblems(workload.metadata?.annotations),
    ...(workload.kind === 'CronJob' ? cronProblems(workload) : []),
    ...suspendProblems(workload),
    ...countProblems(spec, path),
    ...selectorProblems(spec, path),
    ...claimProblems(workload),
    ...(isJob(workload)
      ? jobProblems(spec, path)
      : [...longRunningProblems(spec, path), ...updateProblems(workload.kind, spec)]),
  ];
}

/** Fields that take effect, or that have a separate problem message. */
const namedFields: ReadonlySet<string> = new Set([
  'ordinals',
  'replicas',
  // It only serves to find the pods of the workload.
  'selector',
  'template',
  'volumeClaimTemplates',
]);

/** The same, of Jobs and CronJobs. */
const jobFields: ReadonlySet<string> = new Set([
  'activeDeadlineSeconds',
  'backoffLimit',
  'backoffLimitPerIndex',
  'completionMode',
  'completions',
  'concurrencyPolicy',
  'failedJobsHistoryLimit',
  'jobTemplate',
  'maxFailedIndexes',
  'parallelism',
  'podFailurePolicy',
  'podReplacementPolicy',
  'schedule',
  'startingDeadlineSeconds',
  'successPolicy',
  'successfulJobsHistoryLimit',
  'suspend',
  'timeZone',
  'ttlSecondsAfterFinished',
]);

/** The same, of workloads that keep pods running. */
const updateFields: ReadonlySet<string> = new Set([
  'minReadySeconds',
  'paused',
  'podManagementPolicy',
  'progressDeadlineSeconds',
  'serviceName',
  'strategy',
  'updateStrategy',
]);

/** Fields for objects of a cluster. On one node nothing is lost without them. */
const harmlessFields: ReadonlySet<string> = new Set([
  'manualSelector',
  'persistentVolumeClaimRetentionPolicy',
  'revisionHistoryLimit',
]);

/** One line for the fields that have an effect in a cluster, one for the harmless ones. */
function ignoredFields(workload: Workload): FieldProblem[] {
  const { spec } = specWithTemplate(workload);
  const isNamed = (field: string): boolean =>
    namedFields.has(field) || (isJob(workload) ? jobFields : updateFields).has(field);
  const unnamed = Object.keys({ ...workload.spec, ...spec }).filter((field) => !isNamed(field));
  const missed = unnamed.filter((field) => !harmlessFields.has(field));
  const harmless = [
    ...unnamed.filter((field) => harmlessFields.has(field)),
    ...Object.keys(spec.template?.metadata ?? {})
      .filter((field) => field !== 'labels' && field !== 'annotations')
      .map((field) => `template.metadata.${field}`),
  ];
  const what = `A ${workload.kind} runs on one node here`;
  return [
    ...(missed.length === 0 ? [] : [warn('kind', `${what}; ignored: ${missed.join(', ')}`)]),
    ...(harmless.length === 0 ? [] : [note('kind', `${what}, which needs no ${harmless.join(', ')}`)]),
  ];
}

function countProblems(spec: WorkloadSpec, path: string): FieldProblem[] {
  return (['replicas', 'completions', 'parallelism'] as const).flatMap((field) => {
    const count = spec[field];
    if (count === undefined || count === 1) return [];
    const place = `${path}.${field}`;
    if (count < 0) return [refuse(place, `Invalid value: ${count}: must not be negative`)];
    if (count === 0) return [warn(place, `${field} is 0: no pod is declared`)];
    if (field !== 'replicas' || count <= maxReplicas) return [];
    return [refuse(place, `Invalid value: ${count}: one node runs at most ${maxReplicas} replicas`)];
  });
}

/** kubelet: pkg/apis/apps/validation/validation.go ValidateDeploymentSpec, ValidateStatefulSetSpec */
function updateProblems(kind: Workload['kind'], spec: WorkloadSpec): FieldProblem[] {
  const { minReadySeconds = 0, progressDeadlineSeconds = 600, ordinals, podManagementPolicy = '' } = spec;
  const { serviceName = '' } = spec;
  const field = kind === 'Deployment' ? 'strategy' : 'updateStrategy';
  const { rollingUpdate, type: written = '' } = spec[field] ?? {};
  const type = written === '' ? 'RollingUpdate' : written;
  const { maxSurge, maxUnavailable, partition = 0 } = rollingUpdate ?? {};
  const types = kind === 'Deployment' ? ['RollingUpdate', 'Recreate'] : ['RollingUpdate', 'OnDelete'];
  const errors = new FieldErrors();
  const notNegative = (path: string, value: number): void => {
    if (value < 0) errors.invalid(path, value, 'must not be negative');
  };
  notNegative('spec.minReadySeconds', minReadySeconds);
  notNegative('spec.ordinals.start', ordinals?.start ?? 0);
  notNegative(`spec.${field}.rollingUpdate.partition`, partition);
  if (kind === 'Deployment' && progressDeadlineSeconds !== 0 && progressDeadlineSeconds <= minReadySeconds)
    errors.invalid('spec.progressDeadlineSeconds', progressDeadlineSeconds, 'must be greater than minReadySeconds');
  errors.unsupportedUnless(`spec.${field}.type`, type, types);
  if (podManagementPolicy !== '')
    errors.unsupportedUnless('spec.podManagementPolicy', podManagementPolicy, ['OrderedReady', 'Parallel']);
  if (serviceName !== '') errors.invalidIf('spec.serviceName', serviceName, checkDNS1123Label(serviceName));
  if (type === 'Recreate' && rollingUpdate !== undefined)
    errors.forbidden(`spec.${field}.rollingUpdate`, 'may not be set when type is Recreate');
  const counts = Object.entries({ maxSurge, maxUnavailable });
  for (const [name, value] of counts) checkCount(errors, `spec.${field}.rollingUpdate.${name}`, value);
  if (counts.every(([, value]) => value !== undefined && /^0+%?$/.test(String(value))))
    errors.invalid(`spec.${field}.rollingUpdate.maxUnavailable`, maxUnavailable, 'may not be 0 when maxSurge is 0');
  return errors.list.map(brokenRule);
}

function checkCount(errors: FieldErrors, path: string, value: CountOrPercent | undefined): void {
  if (value === undefined) return;
  if (typeof value === 'string' && !/^\d+%$/.test(value))
    errors.invalid(path, value, 'must be a number or a percentage such as 25%');
  else if (typeof value === 'number' && value < 0) errors.invalid(path, value, 'must not be negative');
  else if (typeof value === 'string' && path.endsWith('maxUnavailable') && Number(value.slice(0, -1)) > 100)
    errors.invalid(path, value, 'must not be greater than 100%');
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

function suspendProblems(workload: Workload): FieldProblem[] {
  const { spec, path } = specWithTemplate(workload);
  const isCron = workload.kind === 'CronJob' && workload.spec?.suspend === true;
  return [
    ...(isCron ? [warn('spec.suspend', 'The CronJob is suspended: no run begins')] : []),
    ...(spec.suspend === true ? [warn(`${path}.suspend`, 'The Job is suspended: no pod is declared')] : []),
  ];
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
