import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorMessage, hasCode } from '../../../errors.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { mountPointOf } from '../../host/mount-points.ts';
import { ownershipProblems } from './ownership-problems.ts';

/** What a folder of manifests has in it. */
export interface FolderEntry {
  name: string;
  isLink: boolean;
  isFolder: boolean;
}

/** What a path of manifests is now. */
export type PathLook =
  | { is: 'folder'; entries: FolderEntry[]; real: string; mountPoint: string; problems: ManifestProblem[] }
  /** Anything else that is there: whether it can be read is for the reader of files to find out. */
  | { is: 'file'; real: string; mountPoint: string }
  /** The folder it was in is there, and it is not: it was removed. */
  | { is: 'removed' }
  /** It cannot be looked at: what was declared there says nothing about what is declared there now. */
  | { is: 'away'; isUnmounted: boolean; because: string; hint: string };

interface Mounts {
  /** What is mounted now. */
  mountPoints: readonly string[];
  /** What the path was on when it was looked at last; undefined: it was not, or that need not be mounted. */
  mountedOn: string | undefined;
}

/** Looks at a file or folder of manifests. Never rejects. */
export async function lookAtPath(path: string, { mountPoints, mountedOn }: Mounts): Promise<PathLook> {
  if (mountedOn !== undefined && !mountPoints.includes(mountedOn)) {
    const hint =
      'Mount it. To give up what was declared there, stop the agent and remove <root-dir>/manifests-last-good.';
    return { is: 'away', isUnmounted: true, because: `nothing is mounted on ${mountedOn}`, hint };
  }
  try {
    const stats = await stat(path);
    const real = await realpath(path);
    const mountPoint = mountPointOf(real, mountPoints);
    if (!stats.isDirectory()) return { is: 'file', real, mountPoint };
    const entries = await readdir(path, { withFileTypes: true });
    const known = entries.map((entry): FolderEntry => {
      return { name: entry.name, isLink: entry.isSymbolicLink(), isFolder: entry.isDirectory() };
    });
    known.sort((a, b) => (a.name < b.name ? -1 : 1));
    return { is: 'folder', entries: known, real, mountPoint, problems: ownershipProblems(path, stats) };
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) return away(errorMessage(error), 'Check its permissions.');
    return lookForMissing(path);
  }
}

async function lookForMissing(path: string): Promise<PathLook> {
  if (await isThere(path)) return away('is a link to nothing', 'Restore what it leads to.');
  const above = dirname(path);
  if (await isThere(above)) return { is: 'removed' };
  return away(`path does not exist, nor does ${above}`, 'Create it; it is read as soon as it is there.');
}

function away(because: string, hint: string): PathLook {
  return { is: 'away', isUnmounted: false, because, hint };
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
