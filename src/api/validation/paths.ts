import type { FieldErrors } from '../values/field-errors.ts';

/** No element of the path may be `..`. kubelet: validation.go validatePathNoBacksteps */
export function validateNoBacksteps(errors: FieldErrors, field: string, path: string): void {
  if (hasBackstep(path)) errors.invalid(field, path, 'must not contain ".."');
}

export function hasBackstep(path: string): boolean {
  return path.split('/').includes('..');
}

/** A relative path without `..`. kubelet: validation.go validateLocalDescendingPath */
export function validateDescendingPath(errors: FieldErrors, field: string, path: string): void {
  if (path.startsWith('/')) errors.invalid(field, path, 'must be a relative path');
  validateNoBacksteps(errors, field, path);
}

/** A descending path that does not start with two dots. kubelet: validation.go ValidateLocalNonReservedPath */
export function validateFilePath(errors: FieldErrors, field: string, path: string): void {
  validateDescendingPath(errors, field, path);
  if (path.startsWith('..') && !path.startsWith('../')) errors.invalid(field, path, 'must not start with ".."');
}

/** Permission bits. */
export function validateFileMode(errors: FieldErrors, field: string, mode: number | undefined): void {
  if (mode !== undefined && (mode < 0 || mode > 0o777)) {
    const isOctal = /^[0-7]{3}$/.test(String(mode));
    const hint = isOctal ? `Write 0${mode}, or ${Number.parseInt(String(mode), 8)} in JSON.` : undefined;
    errors.invalid(field, mode, 'must be between 0 and 0777 (octal)', hint);
  }
}
