import type * as core from 'kubernetes-types/core/v1.js';
import type { FieldErrors } from '../values/field-errors.ts';
import { validateFileMode, validateFilePath } from './paths.ts';

/** kubelet: validation.go validateKeyToPath */
export function validateKeysToPaths(errors: FieldErrors, field: string, items: readonly core.KeyToPath[]): void {
  for (const [index, { key, mode, path }] of items.entries()) {
    if (key === '') errors.required(`${field}[${index}].key`);
    if (path === '') errors.required(`${field}[${index}].path`);
    validateFilePath(errors, `${field}[${index}].path`, path);
    validateFileMode(errors, `${field}[${index}].mode`, mode);
  }
}
