import type { PriorityClass } from 'kubernetes-types/scheduling/v1.js';
import type { RuntimeClass } from 'kubernetes-types/node/v1.js';
import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import type { FieldErrors } from '../values/field-errors.ts';
import { checkDNS1123Label } from '../values/names.ts';
import { systemPriorityClasses } from '../values/pod-priority.ts';
import { validateLabels } from './labels.ts';
import { validateObjectMeta } from './validate-metadata.ts';
import { validateResources } from './validate-resources.ts';
import { validateTolerations } from './validate-scheduling.ts';

/** kubelet: pkg/apis/node/validation/validation.go ValidateRuntimeClass */
export function validateRuntimeClass(errors: FieldErrors, object: RuntimeClass): void {
  validateClusterMeta(errors, object.metadata);
  if (object.handler === '') errors.required('handler', 'the name that the container runtime has for it');
  else errors.invalidNameUnless('handler', object.handler, checkDNS1123Label);
  validateResources(errors, 'overhead.podFixed', { limits: object.overhead?.podFixed ?? {} }, new Set());
  validateLabels(errors, 'scheduling.nodeSelector', object.scheduling?.nodeSelector);
  validateTolerations(errors, 'scheduling.tolerations', object.scheduling?.tolerations ?? []);
}

/** Highest value of a class that is not built in. kubelet: pkg/apis/scheduling HighestUserDefinablePriority */
const maxValue = 1_000_000_000;

/** kubelet: pkg/apis/scheduling/validation/validation.go ValidatePriorityClass */
export function validatePriorityClass(errors: FieldErrors, object: PriorityClass): void {
  const { metadata, value, globalDefault = false, preemptionPolicy } = object;
  const name = metadata?.name ?? '';
  validateClusterMeta(errors, metadata);
  if (name.startsWith('system-')) {
    if (systemPriorityClasses.get(name) !== value || globalDefault) {
      errors.forbidden('metadata.name', 'names that start with "system-" are those of built-in classes');
    }
  } else if (value > maxValue) {
    errors.forbidden('value', `the maximum of a declared class is ${maxValue}`);
  }
  if (preemptionPolicy !== undefined) {
    errors.requiredOneOf('preemptionPolicy', preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  }
}

/** Metadata of an object without a namespace. */
export function validateClusterMeta(errors: FieldErrors, metadata: ObjectMeta = {}): void {
  const { name = '', namespace = '' } = metadata;
  if (namespace !== '') errors.forbidden('metadata.namespace', 'an object of this kind has no namespace');
  if (name === '') errors.required('metadata.name', 'a name is needed');
  else validateObjectMeta(errors, { ...metadata, name, namespace: 'default' });
}
