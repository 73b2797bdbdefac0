import type { LabelSelector } from 'kubernetes-types/meta/v1.js';
import type { FieldErrors } from '../values/field-errors.ts';
import { byteLength, checkAnnotationKey, checkLabelValue, checkQualifiedName } from '../values/names.ts';

const maxAnnotationBytes = 256 * 1024;

/** Validates the keys and values of labels. Errors carry the path of the whole map. */
export function validateLabels(errors: FieldErrors, field: string, labels: Record<string, string> | undefined): void {
  for (const [key, value] of Object.entries(labels ?? {})) {
    errors.invalidIf(field, key, checkQualifiedName(key));
    errors.invalidIf(field, value, checkLabelValue(value));
  }
}

/** Validates the keys of annotations and their total size. */
export function validateAnnotations(
  errors: FieldErrors,
  field: string,
  annotations: Record<string, string> | undefined,
): void {
  const entries = Object.entries(annotations ?? {});
  for (const [key] of entries) errors.invalidIf(field, key, checkAnnotationKey(key));
  const bytes = entries.flat().reduce((sum, text) => sum + byteLength(text), 0);
  if (bytes > maxAnnotationBytes) errors.tooLong(field, `must be no more than ${maxAnnotationBytes} bytes in all`);
}

/** kubelet: apimachinery/pkg/apis/meta/v1/validation ValidateLabelSelector */
export function validateLabelSelector(errors: FieldErrors, field: string, selector: LabelSelector | undefined): void {
  validateLabels(errors, `${field}.matchLabels`, selector?.matchLabels);
  for (const [index, { key, operator, values = [] }] of (selector?.matchExpressions ?? []).entries()) {
    const path = `${field}.matchExpressions[${index}]`;
    switch (operator) {
      case 'In':
      case 'NotIn':
        if (values.length === 0) errors.required(`${path}.values`, 'must be specified when operator is In or NotIn');
        break;
      case 'Exists':
      case 'DoesNotExist':
        if (values.length > 0) errors.forbidden(`${path}.values`, `may not be specified when operator is ${operator}`);
        break;
      default:
        errors.invalid(`${path}.operator`, operator, 'is not a selector operator');
    }
    errors.invalidIf(`${path}.key`, key, checkQualifiedName(key));
    for (const [at, value] of values.entries()) {
      errors.invalidIf(`${path}.values[${at}]`, value, checkLabelValue(value));
    }
  }
}
