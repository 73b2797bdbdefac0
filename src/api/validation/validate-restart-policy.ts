import type * as core from 'kubernetes-types/core/v1.js';
import type { FieldErrors } from '../values/field-errors.ts';

const maxRules = 20;
const maxExitCodes = 255;

/** When a container starts again. kubelet: validation.go validateContainerRestartPolicy */
export function validateRestartPolicy(
  errors: FieldErrors,
  field: string,
  { restartPolicy, restartPolicyRules: rules = [] }: core.Container,
): void {
  if (restartPolicy !== undefined) {
    errors.unsupportedUnless(`${field}.restartPolicy`, restartPolicy, ['Always', 'Never', 'OnFailure']);
  } else if (rules.length > 0) {
    errors.required(`${field}.restartPolicy`, 'must be set, because restartPolicyRules are');
  }
  if (rules.length > maxRules) errors.tooMany(`${field}.restartPolicyRules`, rules.length, maxRules);
  for (const [index, rule] of rules.entries()) validateRule(errors, `${field}.restartPolicyRules[${index}]`, rule);
}

function validateRule(errors: FieldErrors, field: string, { action = '', exitCodes }: core.ContainerRestartRule): void {
  errors.unsupportedUnless(`${field}.action`, action, ['Restart', 'RestartAllContainers']);
  if (!exitCodes) {
    errors.required(`${field}.exitCodes`);
    return;
  }
  const { operator = '', values = [] } = exitCodes;
  errors.unsupportedUnless(`${field}.exitCodes.operator`, operator, ['In', 'NotIn']);
  if (values.length > maxExitCodes) errors.tooMany(`${field}.exitCodes.values`, values.length, maxExitCodes);
}
