import type { RuntimeClass as RawRuntimeClass } from 'kubernetes-types/node/v1.js';
import type { PriorityClass as RawPriorityClass } from 'kubernetes-types/scheduling/v1.js';
import { validatePriorityClass, validateRuntimeClass } from '../validation/validate-node-class.ts';
import type { FieldErrors } from '../values/field-errors.ts';
import type { NodeClass, PriorityClass, RuntimeClass } from '../values/node-class.ts';
import { roundResources } from './apply-defaults.ts';
import type { Loaders } from './loaders.ts';

/** Safe casts: the decoder's schema is generated from these declarations. */
export const nodeClassLoaders: Loaders<NodeClass> = {
  RuntimeClass: (value, errors) => toRuntimeClass(errors, value as unknown as RawRuntimeClass),
  PriorityClass: (value, errors) => toPriorityClass(errors, value as unknown as RawPriorityClass),
};

/** The class of a document or of the configuration. Adds its broken rules to `errors`. */
export function toRuntimeClass(errors: FieldErrors, written: RawRuntimeClass): RuntimeClass {
  const raw = { ...written, handler: (written.handler as string | undefined) ?? '' };
  validateRuntimeClass(errors, raw);
  const { nodeSelector, tolerations } = raw.scheduling ?? {};
  const overhead = raw.overhead?.podFixed;
  return {
    kind: 'RuntimeClass',
    name: raw.metadata?.name ?? '',
    handler: raw.handler,
    ...(overhead && { overhead: roundResources(overhead) }),
    ...(nodeSelector && { nodeSelector }),
    ...(tolerations && { tolerations }),
  };
}

function toPriorityClass(errors: FieldErrors, written: RawPriorityClass): PriorityClass {
  const raw = { ...written, value: (written.value as number | undefined) ?? 0 };
  validatePriorityClass(errors, raw);
  return {
    kind: 'PriorityClass',
    name: raw.metadata?.name ?? '',
    value: raw.value,
    globalDefault: raw.globalDefault ?? false,
    preemptionPolicy: raw.preemptionPolicy ?? 'PreemptLowerPriority',
  };
}
