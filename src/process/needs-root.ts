import { hasCode, UserError } from '../errors.ts';

/** Returns the error for a user without permission. Otherwise a folder that cannot be searched would look empty. */
export function needsRoot(path: string, cause: unknown): UserError {
  return new UserError(`root is needed: no permission to open ${path}`, {
    hint: 'Run it as root: sudo kubelet-ts …',
    cause,
  });
}

/** Converts a permission error of a user other than root. Returns undefined for any other error. */
export function deniedToUser(error: unknown, uid = process.getuid?.()): UserError | undefined {
  if (uid === 0 || !(error instanceof Error) || !hasCode(error, 'EACCES', 'EPERM')) return undefined;
  return needsRoot('path' in error && typeof error.path === 'string' ? error.path : 'a file', error);
}

/** Throws a `UserError` unless run as root. The default message says that the program needs root. */
export function requireRoot(
  message = 'kubelet-ts must run as root',
  hint = 'It makes mounts and cgroups; start it with sudo.',
  uid = process.geteuid?.(),
): void {
  if (uid !== 0) throw new UserError(message, { hint });
}

/** True for a permission error, or for a `UserError` caused by one. */
export function isDenied(error: unknown): boolean {
  return hasCode(error, 'EACCES', 'EPERM') || (error instanceof UserError && hasCode(error.cause, 'EACCES', 'EPERM'));
}
