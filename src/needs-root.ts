import { UserError } from './errors.ts';

/** What a user without rights is told, in place of what they cannot see: a folder that may not be searched looks empty. */
export function needsRoot(path: string, cause: unknown): UserError {
  return new UserError(`root is needed: no permission to open ${path}`, {
    hint: 'Run it as root: sudo kubelet-ts …',
    cause,
  });
}
