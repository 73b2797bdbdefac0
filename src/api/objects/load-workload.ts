import { errorsOfPartialPod, type LoadResult, toValidPod } from './load-pod.ts';
import {
  decodeManifestObject,
  type FieldProblem,
  type ManifestObject,
  problemOf,
} from '../decoding/manifest-object.ts';
import type { StaticPodOptions } from './static-pod.ts';
import type { PersistentVolumeClaim } from '../values/persistent-volume.ts';
import { isOtherHook } from '../validation/helm-hooks.ts';
import { toClaim } from './load-storage-object.ts';
import type { Pod } from '../types.ts';
import { declaredCronJob, declaredJob } from './load-job.ts';
import type { DeclaredWorkload } from '../values/workload.ts';
import { replicatedWorkload } from './replicated-workload.ts';
import { claimNameOf, specWithTemplate, type Workload, workloadPod } from './workload-pod.ts';
import { workloadProblems } from './workload-problems.ts';

interface LoadedWorkload extends LoadResult {
  /** Absent if there are errors, or for a hook for another time. */
  workload?: DeclaredWorkload;
}

/** Loads a workload with its first pod as template. `declaredPods` returns its pods. */
export function loadWorkload(
  kind: Workload['kind'],
  object: ManifestObject,
  options: StaticPodOptions,
): LoadedWorkload {
  const { value, partial, problems } = decodeManifestObject(kind, object);
  if (value === undefined) {
    const templateErrors = partial ? errorsOfTemplate({ ...partial.value, kind }, partial.brokenFields, options) : [];
    return { problems: [...problems, ...templateErrors.map((problem) => problemOf(object, problem))] };
  }
  // Safe cast: the decoder's schema and this type are made from the same declarations.
  const workload: Workload = { ...value, kind };
  problems.push(...workloadProblems(workload).map((problem) => problemOf(object, problem)));
  const { spec, path } = specWithTemplate(workload);
  if (!spec.template) return { problems };
  const { problems: ofPod, ...loaded } = toValidPod(workloadPod(workload), options, (problem) =>
    problemOf(object, inWorkload(problem, path)),
  );
  problems.push(...ofPod);
  const isBroken = problems.some(({ severity }) => severity === 'error');
  if (isBroken) return { problems };
  const { pod, ...rest } = loaded;
  // It is a hook for another time.
  if (pod === undefined || isOtherHook(workload.metadata?.annotations)) return { problems };
  return { ...rest, workload: declaredWorkload(workload, pod, options), problems };
}

function declaredWorkload(workload: Workload, template: Pod, { cronJobs }: StaticPodOptions): DeclaredWorkload {
  const { kind } = workload;
  if (kind === 'CronJob' && cronJobs !== 'runOnce') return declaredCronJob(workload, template);
  if (kind === 'CronJob' || kind === 'Job') return declaredJob(workload, template);
  return replicatedWorkload(workload, kind, template, claimsOf(workload));
}

/** Errors of the pod template of a workload with fields that could not be decoded. */
function errorsOfTemplate(
  workload: Workload,
  brokenFields: readonly string[],
  options: StaticPodOptions,
): FieldProblem[] {
  const { spec, path } = specWithTemplate(workload);
  const template = `${path}.template`;
  const outside = brokenFields.filter((field) => !field.startsWith(`${template}.`) && !isOfWorkload(field));
  // Claim templates become volumes. Without a template there is no pod.
  const isRead = outside.every(
    (field) => !template.startsWith(field) && !field.startsWith('spec.volumeClaimTemplates'),
  );
  if (spec.template === undefined || !isRead) return [];
  const broken = brokenFields.map((field) => (isOfWorkload(field) ? field : field.replace(`${template}.`, '')));
  return errorsOfPartialPod(workloadPod(workload), broken, options).map((problem) => inWorkload(problem, path));
}

const inWorkload = ({ field, ...problem }: FieldProblem, path: string): FieldProblem => ({
  field: isOfWorkload(field) ? field : `${path}.template.${field}`,
  ...problem,
});

/** The claims of the first pod. */
function claimsOf(workload: Workload): PersistentVolumeClaim[] {
  const written = workload.metadata?.namespace ?? '';
  const namespace = written === '' ? 'default' : written;
  const templates = workload.kind === 'StatefulSet' ? (workload.spec?.volumeClaimTemplates ?? []) : [];
  return templates.map((template) =>
    toClaim({ namespace, name: claimNameOf(workload, template) }, template.spec ?? {}),
  );
}

/** True for fields that the workload sets (name, namespace); the template sets the rest. */
function isOfWorkload(field: string): boolean {
  return field === 'metadata.name' || field === 'metadata.namespace';
}
