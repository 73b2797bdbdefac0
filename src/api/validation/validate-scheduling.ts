import type * as core from 'kubernetes-types/core/v1.js';
import type { LabelSelector } from 'kubernetes-types/meta/v1.js';
import type { FieldErrors } from '../values/field-errors.ts';
import { validateLabels, validateLabelSelector } from './labels.ts';
import { checkDNS1123Label, checkDNS1123Subdomain, checkLabelValue, checkQualifiedName } from '../values/names.ts';

/** Validates the scheduling fields. A static pod needs no scheduler, but the kubelet checks their form. */
export function validateScheduling(errors: FieldErrors, spec: core.PodSpec): void {
  validateLabels(errors, 'spec.nodeSelector', spec.nodeSelector);
  validateTolerations(errors, 'spec.tolerations', spec.tolerations ?? []);
  validateNodeAffinity(errors, spec.affinity?.nodeAffinity);
  for (const kind of ['podAffinity', 'podAntiAffinity'] as const) {
    validatePodAffinity(errors, `spec.affinity.${kind}`, spec.affinity?.[kind]);
  }
  validateTopologySpread(errors, spec.topologySpreadConstraints ?? []);
  validateSchedulingGates(errors, spec);
}

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** kubelet: validation.go ValidateTolerations */
export function validateTolerations(errors: FieldErrors, field: string, tolerations: readonly core.Toleration[]): void {
  for (const [index, toleration] of tolerations.entries()) {
    const path = `${field}[${index}]`;
    const { effect = '', key = '', operator = '', tolerationSeconds, value = '' } = toleration;
    if (key !== '') errors.invalidIf(`${path}.key`, key, checkQualifiedName(key));
    if (key === '' && operator !== 'Exists') {
      errors.invalid(`${path}.operator`, operator, 'must be Exists when key is empty');
    }
    if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
      errors.invalid(`${path}.effect`, effect, 'must be NoExecute when tolerationSeconds is set');
    }
    if (operator === 'Equal' || operator === '') {
      errors.invalidIf(`${path}.operator`, value, checkLabelValue(value));
    } else if (operator === 'Exists') {
      if (value !== '') errors.invalid(`${path}.operator`, value, 'value must be empty when operator is Exists');
    } else {
      errors.unsupportedUnless(`${path}.operator`, operator, ['Equal', 'Exists']);
    }
    if (effect !== '') errors.unsupportedUnless(`${path}.effect`, effect, effects);
  }
}

function validateNodeAffinity(errors: FieldErrors, affinity: core.NodeAffinity | undefined): void {
  const field = 'spec.affinity.nodeAffinity';
  const required = affinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required) {
    const path = `${field}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`;
    if (required.nodeSelectorTerms.length === 0) errors.required(path, 'must have at least one term');
    for (const [index, term] of required.nodeSelectorTerms.entries()) {
      validateNodeSelectorTerm(errors, `${path}[${index}]`, term, true);
    }
  }
  for (const [index, term] of (affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    const path = `${field}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
    validateWeight(errors, `${path}.weight`, term.weight);
    validateNodeSelectorTerm(errors, `${path}.preference`, term.preference, false);
  }
}

function validateWeight(errors: FieldErrors, field: string, weight: number): void {
  if (weight < 1 || weight > 100) errors.invalid(field, weight, 'must be between 1 and 100');
}

function validateNodeSelectorTerm(
  errors: FieldErrors,
  field: string,
  term: core.NodeSelectorTerm,
  checksValues: boolean,
): void {
  for (const [index, requirement] of (term.matchExpressions ?? []).entries()) {
    const path = `${field}.matchExpressions[${index}]`;
    validateNodeSelectorOperator(errors, path, requirement);
    errors.invalidIf(`${path}.key`, requirement.key, checkQualifiedName(requirement.key));
    if (!checksValues) continue;
    for (const [at, value] of (requirement.values ?? []).entries()) {
      errors.invalidIf(`${path}.values[${at}]`, value, checkLabelValue(value));
    }
  }
  for (const [index, { key, operator, values = [] }] of (term.matchFields ?? []).entries()) {
    const path = `${field}.matchFields[${index}]`;
    if (operator !== 'In' && operator !== 'NotIn') errors.invalid(`${path}.operator`, operator, 'must be In or NotIn');
    else if (values.length !== 1) errors.required(`${path}.values`, 'must be exactly one');
    if (key !== 'metadata.name') {
      errors.invalid(`${path}.key`, key, 'must be metadata.name');
      continue;
    }
    for (const [at, value] of values.entries()) {
      errors.invalidIf(`${path}.values[${at}]`, value, checkDNS1123Subdomain(value));
    }
  }
}

function validateNodeSelectorOperator(
  errors: FieldErrors,
  field: string,
  { operator, values = [] }: core.NodeSelectorRequirement,
): void {
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) errors.required(`${field}.values`, 'must be specified when operator is In or NotIn');
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) errors.forbidden(`${field}.values`, `may not be specified when operator is ${operator}`);
      break;
    case 'Gt':
    case 'Lt':
      if (values.length !== 1) errors.required(`${field}.values`, 'must be one value when operator is Gt or Lt');
      break;
    default:
      errors.invalid(`${field}.operator`, operator, 'is not a selector operator');
  }
}

function validatePodAffinity(
  errors: FieldErrors,
  field: string,
  affinity: core.PodAffinity | core.PodAntiAffinity | undefined,
): void {
  for (const [index, term] of (affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    validatePodAffinityTerm(errors, `${field}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`, term);
  }
  for (const [index, weighted] of (affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    const path = `${field}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
    validateWeight(errors, `${path}.weight`, weighted.weight);
    validatePodAffinityTerm(errors, `${path}.podAffinityTerm`, weighted.podAffinityTerm);
  }
}

function validatePodAffinityTerm(errors: FieldErrors, field: string, term: core.PodAffinityTerm): void {
  validateLabelSelector(errors, `${field}.labelSelector`, term.labelSelector);
  validateLabelSelector(errors, `${field}.namespaceSelector`, term.namespaceSelector);
  for (const namespace of term.namespaces ?? []) {
    errors.invalidIf(`${field}.namespace`, namespace, checkDNS1123Label(namespace));
  }
  validateMatchLabelKeys(errors, field, term);
  if (term.topologyKey === '') errors.required(`${field}.topologyKey`, 'must not be empty');
  errors.invalidIf(`${field}.topologyKey`, term.topologyKey, checkQualifiedName(term.topologyKey));
}

/** kubelet: validation.go validateMatchLabelKeysAndMismatchLabelKeys */
function validateMatchLabelKeys(errors: FieldErrors, field: string, term: core.PodAffinityTerm): void {
  const { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] } = term;
  for (const [name, keys] of Object.entries({ matchLabelKeys, mismatchLabelKeys })) {
    if (keys.length === 0) continue;
    if (!labelSelector) {
      errors.forbidden(`${field}.${name}`, 'must not be specified when labelSelector is not set');
      continue;
    }
    for (const [index, key] of keys.entries()) {
      errors.invalidIf(`${field}.${name}[${index}]`, key, checkQualifiedName(key));
    }
  }
  const seen = new Set(Object.keys(labelSelector?.matchLabels ?? {}));
  const lastIndexes = new Map(matchLabelKeys.map((key, index) => [key, index]));
  for (const { key } of labelSelector?.matchExpressions ?? []) {
    const index = lastIndexes.get(key);
    if (index !== undefined && seen.has(key))
      errors.invalid(`${field}[${index}]`, key, 'is in matchLabelKeys and labelSelector');
    seen.add(key);
  }
  const mismatched = new Set(mismatchLabelKeys);
  for (const [index, key] of matchLabelKeys.entries()) {
    if (mismatched.has(key)) {
      errors.invalid(`${field}.matchLabelKeys[${index}]`, key, 'is in matchLabelKeys and mismatchLabelKeys');
    }
  }
}

function validateTopologySpread(errors: FieldErrors, constraints: readonly core.TopologySpreadConstraint[]): void {
  const identity = ({ topologyKey, whenUnsatisfiable }: core.TopologySpreadConstraint): string =>
    JSON.stringify([topologyKey, whenUnsatisfiable]);
  const lastIndexes = new Map(constraints.map((constraint, index) => [identity(constraint), index]));
  for (const [index, constraint] of constraints.entries()) {
    const field = `spec.topologySpreadConstraints[${index}]`;
    const { labelSelector, matchLabelKeys = [], maxSkew, minDomains, topologyKey, whenUnsatisfiable } = constraint;
    if (maxSkew <= 0) errors.invalid(`${field}.maxSkew`, maxSkew, 'must be greater than zero');
    if (topologyKey === '') errors.required(`${field}.topologyKey`, 'must not be empty');
    errors.unsupportedUnless(`${field}.whenUnsatisfiable`, whenUnsatisfiable, ['DoNotSchedule', 'ScheduleAnyway']);
    if (lastIndexes.get(identity(constraint)) !== index)
      errors.duplicate(`${field}.{topologyKey, whenUnsatisfiable}`, `${topologyKey}, ${whenUnsatisfiable}`);
    if (minDomains !== undefined) {
      if (minDomains <= 0) errors.invalid(`${field}.minDomains`, minDomains, 'must be greater than zero');
      if (whenUnsatisfiable !== 'DoNotSchedule') {
        errors.invalid(`${field}.minDomains`, minDomains, 'needs whenUnsatisfiable DoNotSchedule');
      }
    }
    for (const name of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const) {
      const policy = constraint[name];
      if (policy !== undefined) errors.unsupportedUnless(`${field}.${name}`, policy, ['Honor', 'Ignore']);
    }
    validateSpreadLabelKeys(errors, `${field}.matchLabelKeys`, matchLabelKeys, labelSelector);
    validateLabelSelector(errors, `${field}.labelSelector`, labelSelector);
  }
}

function validateSpreadLabelKeys(
  errors: FieldErrors,
  field: string,
  keys: readonly string[],
  selector: LabelSelector | undefined,
): void {
  if (keys.length === 0) return;
  if (!selector) errors.forbidden(field, 'must not be specified when labelSelector is not set');
  const selected = new Set([
    ...Object.keys(selector?.matchLabels ?? {}),
    ...(selector?.matchExpressions ?? []).map(({ key }) => key),
  ]);
  for (const [index, key] of keys.entries()) {
    errors.invalidIf(`${field}[${index}]`, key, checkQualifiedName(key));
    if (selected.has(key)) errors.invalid(`${field}[${index}]`, key, 'is in matchLabelKeys and labelSelector');
  }
}

function validateSchedulingGates(errors: FieldErrors, spec: core.PodSpec): void {
  const gates = (spec.schedulingGates ?? []).map(({ name }) => name);
  const seen = new Set<string>();
  for (const [index, name] of gates.entries()) {
    const field = `spec.schedulingGates[${index}]`;
    errors.invalidIf(field, name, checkQualifiedName(name));
    if (seen.has(name)) errors.duplicate(field, name);
    seen.add(name);
  }
  if (gates.length > 0) errors.forbidden('spec.nodeName', 'cannot be set while there are schedulingGates');
}
