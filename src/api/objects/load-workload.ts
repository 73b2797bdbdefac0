import { errorsOfPartialPod, type LoadResult, toValidPod } from './load-pod.ts';
import {
  decodeManifestObject,
  type FieldProblem,
  type ManifestObject,
  problemOf,
} from '../decoding/manifest-object.ts';
import type { StaticPodOptions } from './static-pod.ts';
import type { PersistentVolumeClaim } from '../values/persistent-volume.ts';
import { toClaim } from './load-storage-object.ts';
import { claimNameOf, specWithTemplate, type Workload, workloadPod } from './workload-pod.ts';
import { wantsNoPod, workloadProblems } from './workload-problems.ts';

interface LoadedWorkload extends LoadResult {
  /** Claims of its pod. */
  claims?: PersistentVolumeClaim[];
}

/** Loads a workload as the one pod that it runs here. Returns no pod if the workload currently wants none. */
export function loadWorkload(
  kind: Workload['kind'],
  object: ManifestObject,
  options: StaticPodOptions,
): LoadedWorkload {
  if (kind === 'CronJob' && options.cronJobs !== 'runOnce') {
    const message = 'kind "CronJob" is not supported: nothing starts pods on a schedule';
    const hint = 'Let the cron of this machine call: kubelet-ts run-once FILE';
    return { problems: [problemOf(object, { field: 'kind', message, hint, severity: 'error' })] };
  }
  const { value, partial, problems } = decodeManifestObject(kind, object);
  if (value === undefined) {
    const further = partial ? errorsOfTemplate({ ...partial.value, kind }, partial.brokenFields, options) : [];
    return { problems: [...problems, ...further.map((problem) => problemOf(object, problem))] };
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
  const claims = claimsOf(workload);
  return { ...(!wantsNoPod(workload) && loaded), ...(claims.length > 0 && { claims }), problems };
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

/** The claims stay declared while the workload wants no pod, as in a StatefulSet that is scaled to zero. */
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
