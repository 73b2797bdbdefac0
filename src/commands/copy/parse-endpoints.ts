import { basename, dirname } from 'node:path/posix';
import { UserError } from '../../errors.ts';

export interface CopyRequest {
  direction: 'fromPod' | 'toPod';
  /** A reference to a pod, as users write it. */
  pod: string;
  podPath: string;
  localPath: string;
}

const hint = 'Write POD:PATH for one of the two, such as: kubelet-ts cp web:/etc/hosts ./hosts';

/** Finds the path that is in a pod. A path that starts with `/`, `.` or `~` is local, even if it contains a colon. */
export function parseEndpoints(from: string, to: string): CopyRequest {
  const [fromPod, toPod] = [inPod(from), inPod(to)];
  if (fromPod !== undefined && toPod !== undefined) throw new UserError('both paths are in pods', { hint });
  if (fromPod !== undefined) return { direction: 'fromPod', ...fromPod, localPath: nonEmpty(to) };
  if (toPod !== undefined) return { direction: 'toPod', ...toPod, localPath: nonEmpty(from) };
  throw new UserError('neither path is in a pod', { hint });
}

function inPod(text: string): { pod: string; podPath: string } | undefined {
  const colon = text.indexOf(':');
  if (colon < 1 || /^[/.~]/.test(text)) return undefined;
  return { pod: text.slice(0, colon), podPath: nonEmpty(text.slice(colon + 1)) };
}

function nonEmpty(path: string): string {
  if (path === '') throw new UserError('a path is empty', { hint });
  if (path.includes('\0')) throw new UserError('a path contains a NUL character');
  return path;
}

/** A file, folder or link to copy. */
export interface Source {
  folder: string;
  /** Its name in the folder. Undefined to copy only the content of the folder, for a path that ends in `/.`. */
  name: string | undefined;
}

export function sourceOf(path: string): Source {
  const name = basename(path);
  if (/(^|\/)\.\/*$/.test(path) || name === '..' || name === '') return { folder: path, name: undefined };
  return { folder: dirname(path), name };
}

/** The destination of a copy. */
export interface Target {
  /** An existing folder. */
  folder: string;
  /** Name of the copy in the folder. Undefined if the content goes into the folder itself. */
  name: string | undefined;
}

/** Where `source` goes, as with `cp -R`: into an existing folder under its own name, else to that path itself. */
export function targetOf({ name }: Source, path: string, isFolder: boolean): Target {
  if (isFolder) return { folder: path, name };
  if (path.endsWith('/') && name !== undefined) {
    throw new UserError(`there is no folder ${path}`, { hint: 'Create it, or leave out the slash at the end.' });
  }
  return { folder: dirname(path), name: basename(path) };
}
