import { lstat, readlink, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { errorMessage, hasCode } from '../../errors.ts';

/** The folder of the system logs. */
export interface LogFolder {
  root: string;
  /** Name of the folder in texts. */
  shownRoot: string;
}

/** More links than the kernel follows: the limit of SecureJoin. */
const maxLinks = 255;

/** Go's messages for system errors. kubelet: Go's syscall errors */
const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  ENOTDIR: 'not a directory',
  ELOOP: 'too many levels of symbolic links',
  EACCES: 'permission denied',
  ENAMETOOLONG: 'file name too long',
  // Node refuses a null character itself.
  ERR_INVALID_ARG_VALUE: 'invalid argument',
};

/**
 * Why a file of the system logs cannot be served, as Go words it. Resolves with undefined if it can be. Follows links
 * as if the folder were the root of the file system. kubelet: kubelet_server_journal.go nodeLogQuery.validate
 */
export async function logFileProblem(file: string, { root, shownRoot }: LogFolder): Promise<string | undefined> {
  const followed = await followBelow(root, file);
  if ('below' in followed) {
    const problem = await stat(join(root, followed.below)).then(() => undefined, reasonOf);
    return problem && `stat ${join(shownRoot, followed.below)}: ${problem}`;
  }
  // The kubelet names its folder with a slash at the end, and SecureJoin adds another one.
  return `${followed.call} ${shownRoot}//${followed.path}: ${followed.reason}`;
}

interface Failure {
  call: string;
  /** As in the folder. */
  path: string;
  reason: string;
}

/**
 * The path in the folder that a path resolves to: `..` stops at the folder, and missing parts stay. kubelet:
 * github.com/cyphar/filepath-securejoin SecureJoin
 */
async function followBelow(root: string, path: string): Promise<{ below: string } | Failure> {
  const names = namesOf(path);
  let below = '/';
  for (let name = names.shift(), links = 0; name !== undefined; name = names.shift()) {
    const next = join(below, name);
    const target = next === '/' ? undefined : await targetOf(root, next);
    if (target === undefined) below = next;
    else if (typeof target !== 'string') return target;
    else {
      if (++links > maxLinks) return { call: 'SecureJoin', path, reason: reasons['ELOOP'] ?? '' };
      if (isAbsolute(target)) below = '/';
      names.unshift(...namesOf(target));
    }
  }
  return { below };
}

const namesOf = (path: string): string[] => path.split('/').filter((name) => name !== '' && name !== '.');

/** The target of a link. Resolves with undefined if the path is missing or not a link. */
async function targetOf(root: string, path: string): Promise<string | Failure | undefined> {
  try {
    if (!(await lstat(join(root, path))).isSymbolicLink()) return undefined;
  } catch (error) {
    return hasCode(error, 'ENOENT', 'ENOTDIR') ? undefined : { call: 'lstat', path, reason: reasonOf(error) };
  }
  return readlink(join(root, path)).catch((error: unknown) => ({ call: 'readlink', path, reason: reasonOf(error) }));
}

function reasonOf(error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException;
  return reasons[code] ?? errorMessage(error);
}
