import {
  brokenRule,
  decodeManifestObject,
  type FieldProblem,
  firstProblems,
  type ManifestObject,
  problemOf,
} from '../decoding/manifest-object.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';
import type { Pod, RawPod } from '../types.ts';
import { independentErrors } from '../decoding/independent-errors.ts';
import { doubtfulFields } from '../validation/doubtful-fields.ts';
import { helmHookProblems, isOtherHook } from '../validation/helm-hooks.ts';
import { unsafeTexts } from '../validation/unsafe-texts.ts';
import { staticPodReferences } from '../validation/static-pod-references.ts';
import { type FieldError, validatePod } from '../validation/validate-pod.ts';
import { objectReferences } from '../values/config-object-references.ts';
import { dependsOn, dependsOnField, type DependsOnPosition, validateDependsOn } from '../values/depends-on.ts';
import type { ClassPosition } from '../values/resolve-classes.ts';
import { validateInPlace } from '../values/in-place.ts';
import { validateUpdateAnnotations } from '../values/update-annotations.ts';
import { validateMaxRestartPeriod } from '../values/max-restart-period.ts';
import { FieldErrors } from '../values/field-errors.ts';
import { checkDNS1123Subdomain } from '../values/names.ts';
import { type StaticPodOptions, toStaticPod } from './static-pod.ts';
import { unsupportedFields } from './supported-fields.ts';

/** A pod to run, or errors; warnings in both cases. */
export interface LoadResult {
  pod?: Pod;
  /** Position of the pod's depends-on annotation, if it has one. */
  dependsOnPosition?: DependsOnPosition;
  /** Positions of the classes that the manifest names. Absent if it names none. */
  classPositions?: ClassPosition[];
  /** True if the manifest sets no UID, so that the pod's UID is derived from its content. */
  isUIDDerived?: boolean;
  problems: ManifestProblem[];
}

/**
 * Loads one object of a manifest as a pod to run. Decodes it, applies the defaults, turns it into a static pod of this
 * node, and validates the result. Every problem with a field has its line and column.
 *
 * kubelet: config/common.go tryDecodeSinglePod
 */
export function loadPodObject(object: ManifestObject, options: StaticPodOptions): LoadResult {
  const { value, partial, problems: decodeProblems } = decodeManifestObject('Pod', object);
  const locate = (problem: FieldProblem): ManifestProblem => problemOf(object, problem);
  // Safe casts: the decoder's schema is generated from the declarations of `RawPod`.
  if (value === undefined) {
    const raw = partial && ({ ...partial.value, apiVersion: 'v1', kind: 'Pod' } as RawPod);
    const templateErrors = raw ? errorsOfPartialPod(raw, partial.brokenFields, options) : [];
    return { problems: [...decodeProblems, ...templateErrors.map(locate)] };
  }
  const raw: RawPod = { ...value, apiVersion: 'v1', kind: 'Pod' };
  const { problems, ...loaded } = toValidPod(raw, options, locate);
  return { ...loaded, problems: [...decodeProblems, ...problems] };
}

/**
 * Errors of a pod without the fields that could not be decoded. Leaves out errors that may result from their absence.
 */
export function errorsOfPartialPod(
  raw: RawPod,
  brokenFields: readonly string[],
  options: StaticPodOptions,
): FieldProblem[] {
  const isNameless = (raw.metadata?.name ?? '') === '';
  const named = isNameless ? { ...raw, metadata: { ...raw.metadata, name: 'unnamed' } } : raw;
  const broken = isNameless ? [...brokenFields, 'metadata.name'] : brokenFields;
  const pod = toStaticPod(named, options);
  const own = independentErrors(validatePod(pod, options.featureGates), broken);
  const hasNoName = isNameless && !brokenFields.some((field) => /^metadata(\.name)?$/.test(field));
  return [...(hasNoName ? [noName] : []), ...errorProblems(own, named, pod)];
}

const noName: FieldProblem = { field: 'metadata.name', message: 'A name is needed', severity: 'error' };

function errorProblems(errors: readonly FieldError[], raw: RawPod, pod: Pod): FieldProblem[] {
  return firstProblems(errors, (error) => asManifestProblem(error, raw, pod));
}

/**
 * The rules apply to the pod on this node. The problem belongs to the manifest, which has neither the pod's name nor
 * its node.
 */
function asManifestProblem(error: FieldError, raw: RawPod, pod: Pod): FieldProblem {
  if (error.field === 'metadata.name') return nameProblem(error, raw.metadata?.name ?? '', pod);
  if (error.field === 'spec.nodeName' && raw.spec?.schedulingGates && error.type === 'Forbidden') {
    const message = 'Forbidden: the pod of a manifest has its node already, and nothing here removes a gate';
    return { field: 'spec.schedulingGates', message, hint: 'Remove schedulingGates.', severity: 'error' };
  }
  return brokenRule(error);
}

/**
 * The rules apply to the name with the node suffix. A name that breaks them even without the suffix is shown as
 * written.
 */
function nameProblem(error: FieldError, name: string, pod: Pod): FieldProblem {
  const own = new FieldErrors();
  own.invalidNameUnless(error.field, name, checkDNS1123Subdomain);
  const [wrong] = own.list;
  if (wrong) return brokenRule(wrong);
  return { ...brokenRule(error), hint: `The whole name is "${pod.metadata.name}", with that of the node.` };
}

/**
 * Turns a decoded pod into a static pod of this node and validates the result. `locate` adds the position of a field.
 */
export function toValidPod(
  raw: RawPod,
  options: StaticPodOptions,
  locate: (problem: FieldProblem) => ManifestProblem,
): LoadResult {
  if ((raw.metadata?.name ?? '') === '') return { problems: errorsOfPartialPod(raw, [], options).map(locate) };
  const crowded = tooManyContainers(raw);
  if (crowded !== undefined) return { problems: [locate(crowded)] };
  const pod = toStaticPod(raw, options);
  const broken = validatePod(pod, options.featureGates);
  const errors = broken.length > 0 ? broken : refusedByLoader(pod);
  if (errors.length === 0) {
    const warnings = [
      ...unsupportedFields(pod, options.featureGates),
      ...doubtfulFields(raw, options),
      ...helmHookProblems(raw.metadata?.annotations),
      ...(options.isPortable === true ? refusedByKubelets(pod) : []),
    ];
    const problems = firstProblems(warnings, (problem) => problem).map(locate);
    if (isOtherHook(raw.metadata?.annotations)) return { problems };
    return {
      pod,
      isUIDDerived: (raw.metadata?.uid ?? '') === '',
      ...dependsOnPosition(pod, locate),
      ...classPositions(pod, options.allPositions ?? false, locate),
      problems,
    };
  }
  return { problems: errorProblems(errors, raw, pod).map(locate) };
}

/** Warns of each reference that a kubelet refuses in a static pod. */
function refusedByKubelets(pod: Pod): FieldProblem[] {
  return staticPodReferences(pod).map(({ field, kind }) => ({
    field,
    message: `kubelets since Kubernetes 1.34 refuse this pod: static pods may not reference ${kind}`,
    hint: 'kubelet-ts supports it. For other kubelets, write the value itself into the pod or use a hostPath.',
    severity: 'warning',
  }));
}

/**
 * A pod with more containers would block the agent. The kubelet has no limit, but its API server accepts no such pod.
 */
const maxContainers = 1000;

/** Checked first, because some rules compare each container with the others. */
function tooManyContainers({ spec }: RawPod): FieldProblem | undefined {
  // A manifest may lack the containers that the type promises.
  const [containers = 0, inits = 0] = [spec?.containers, spec?.initContainers].map((list?: unknown[]) => list?.length);
  if (containers + inits <= maxContainers) return undefined;
  return {
    field: containers > inits ? 'spec.containers' : 'spec.initContainers',
    message: `A pod may have ${maxContainers} containers, and this one has ${containers + inits}`,
    hint: 'Spread them over several pods.',
    severity: 'error',
  };
}

function dependsOnPosition(
  pod: Pod,
  locate: (problem: FieldProblem) => ManifestProblem,
): Pick<LoadResult, 'dependsOnPosition'> {
  if (dependsOn(pod).length === 0) return {};
  const { origin, line, column, field } = locate({ field: dependsOnField, message: '', severity: 'error' });
  const position = { origin, ...(line !== undefined && { line }), ...(column !== undefined && { column }) };
  return { dependsOnPosition: { podUID: pod.metadata.uid, ...position, ...(field !== undefined && { field }) } };
}

function classPositions(
  pod: Pod,
  areAllWanted: boolean,
  locate: (problem: FieldProblem) => ManifestProblem,
): Pick<LoadResult, 'classPositions'> {
  const { runtimeClassName = '', priorityClassName = '' } = pod.spec;
  if (!areAllWanted && runtimeClassName === '' && priorityClassName === '') return {};
  const named = objectReferences(pod).filter(({ kind }) => areAllWanted || kind.endsWith('Class'));
  const places = named.map(({ field }): ClassPosition => {
    const { origin, line, column } = locate({ field, message: '', severity: 'error' });
    const position = { origin, ...(line !== undefined && { line }), ...(column !== undefined && { column }) };
    return { podUID: pod.metadata.uid, field, ...position };
  });
  return places.length === 0 ? {} : { classPositions: places };
}

/** Errors for valid fields that cannot work here. The kubelet also refuses static pods that need an API server. */
function refusedByLoader(pod: Pod): FieldError[] {
  const { spec } = pod;
  const refuse = (field: string): FieldError => ({
    field,
    type: 'Forbidden',
    message: 'static pods cannot use this, as it needs an API server',
  });
  const bundles = (spec.volumes ?? []).flatMap(({ projected }, index) =>
    (projected?.sources ?? []).flatMap(({ clusterTrustBundle }, at) =>
      clusterTrustBundle ? [refuse(`spec.volumes[${index}].projected.sources[${at}].clusterTrustBundle`)] : [],
    ),
  );
  const claims = spec.resourceClaims ? [refuse('spec.resourceClaims')] : [];
  return [
    ...unsafeTexts(pod),
    ...bundles,
    ...claims,
    ...validateDependsOn(pod),
    ...validateMaxRestartPeriod(pod),
    ...validateInPlace(pod),
    ...validateUpdateAnnotations(pod),
  ];
}
