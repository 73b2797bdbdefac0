import { dirname } from 'node:path';
import { getSystemErrorMap } from 'node:util';
import { errorMessage, hasCode, isSystemError } from '../errors.ts';

/** Explains why a file or folder that the user named cannot be read, such as `no such file`. Does not name it. */
export function readFailure(error: unknown, kind: 'file' | 'folder' = 'file'): string {
  return hasCode(error, 'ENOENT') ? `no such ${kind}` : reasonOf(error);
}

/** Explains why a file that the user named cannot be written. Does not mention temporary files. */
export function writeFailure(path: string, error: unknown): string {
  return hasCode(error, 'ENOENT') ? `there is no folder ${dirname(path)}` : reasonOf(error);
}

/** Returns the system's wording, without its call and path. */
function reasonOf(error: unknown): string {
  if (hasCode(error, 'EISDIR')) return 'it is a folder';
  if (!isSystemError(error)) return errorMessage(error);
  const [, reason = error.code] = getSystemErrorMap().get(error.errno ?? 0) ?? [];
  return reason;
}
