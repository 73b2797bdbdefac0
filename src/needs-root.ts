import { hasCode, UserError } from './errors.ts';

/** What a user without rights is told, in place of what they cannot see: a folder that may not be searched looks empty. */
export function needsRoot(path: string, cause: unknown): UserError {
  return new UserError(`root is needed: no permission to open ${path}`, {
    hint: 'Run it as root: sudo kubelet-ts …',
    cause,
  });
}

/** The same for a file that was refused to a user who is not root, wherever that was. Undefined for any other error. */
export function deniedToUser(error: unknown, uid = process.getuid?.()): UserError | undefined {
  if (uid === 0 || !(error instanceof Error) || !hasCode(error, 'EACCES', 'EPERM')) return undefined;
  return needsRoot('path' in error && typeof error.path === 'string' ? error.path : 'a file', error);
}

/** True for a refusal by the kernel, and for what a user is told because of one. */
export function isDenied(error: unknown): boolean {
  return hasCode(error, 'EACCES', 'EPERM') || (error instanceof UserError && hasCode(error.cause, 'EACCES', 'EPERM'));
}
