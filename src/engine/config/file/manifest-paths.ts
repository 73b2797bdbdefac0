import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../../clock.ts';
import { errorMessage, hasCode } from '../../../errors.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { mountPointOf, readMountPoints } from '../../host/mount-points.ts';

/** After this time the files of a removed folder are gone: another folder may be put in its place. */
const folderGoneMs = 1000;
/** After this time the files that are missing in a folder that came back are gone: they may be put there one by one. */
const folderFilledMs = 5000;

/** What a path of manifests is now. */
type Place =
  | { is: 'folder'; files: string[]; links: string[]; real: string; mountPoint: string; problems: ManifestProblem[] }
  /** Anything else that is there. The reader of files finds out whether it can be read. */
  | { is: 'file'; real: string; mountPoint: string }
  /** The folder it was in is there, and it is not: it was removed. */
  | { is: 'removed'; because: string; hint: string }
  /** It cannot be looked at: that says nothing about what is declared there now. */
  | { is: 'away'; isUnmounted: boolean; because: string; hint: string };

interface Deps {
  /** Without slashes at the end. */
  paths: readonly string[];
  clock: Clock;
  /** Where something is mounted now; undefined: this process asks for itself. */
  readMountPoints?: (() => Promise<string[]>) | undefined;
}

/** The paths of manifests as they were at the last look. */
export class ManifestPaths {
  /** Mount points by path, without the root. Kept for the next life, because they may not be mounted then. */
  mountPoints = new Map<string, string>();
  private readonly deps: Deps;
  private readonly places = new Map<string, Place>();
  /** By folder: when files that are missing in it are gone; monotonic. At once if there is no entry. */
  private readonly losesFilesMs = new Map<string, number>();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /**
   * Looks at the paths for which `isMeant` is true. Returns whether one is `other` than it was, such as removed, or has
   * new problems, or all are the `same`.
   */
  async look(isMeant: (path: string) => boolean): Promise<'same' | 'problems' | 'other'> {
    const mountPoints = await this.readMountPoints();
    let news: 'same' | 'problems' | 'other' = 'same';
    for (const path of this.deps.paths.filter(isMeant)) {
      const before = this.places.get(path);
      const place = await this.lookAt(path, mountPoints);
      const atMs = nextLosesFilesMs(before?.is, place.is, this.deps.clock.monotonic());
      if (atMs !== undefined) this.losesFilesMs.set(path, atMs);
      this.places.set(path, place);
      if (before?.is !== place.is) news = 'other';
      else if (news === 'same' && !isDeepStrictEqual(problemsOf(before), problemsOf(place))) news = 'problems';
    }
    return news;
  }

  /** The files that there are to read. */
  get files(): string[] {
    return this.each((path, place) => (place.is === 'file' ? [path] : place.is === 'folder' ? place.files : []));
  }

  /** The links in the folders. */
  get links(): string[] {
    return this.each((_path, place) => (place.is === 'folder' ? place.links : []));
  }

  /** True if something that has to be mounted is not. */
  get isUnmounted(): boolean {
    return [...this.places.values()].some((place) => place.is === 'away' && place.isUnmounted);
  }

  /** True if nothing follows from what is found at the paths of this file. */
  isAway(file: string): boolean {
    return this.placesOf(file).every(([path, place]) => this.goneAtOf(file, path, place) === Infinity);
  }

  /** True if a file is not read for its name. A path that the user named is read, whatever it is called. */
  isIgnored(file: string): boolean {
    return !this.deps.paths.includes(file) && ignoredBecause(file) !== undefined;
  }

  /** When a missing file counts as gone, because it may come back. Monotonic; Infinity: not before it changes. */
  goneAtMs(file: string): number {
    return Math.max(0, ...this.placesOf(file).map(([path, place]) => this.goneAtOf(file, path, place)));
  }

  /** True if a file that is not known yet may have been there in an earlier life, and cannot be looked for. */
  mayHaveHad(file: string): boolean {
    return this.placesOf(file).some(([path, { is }]) => is === 'away' || (is === 'removed' && file !== path));
  }

  /** False: what was read since the last look may lie below or above a mount. */
  async areStill(): Promise<boolean> {
    const mountPoints = await this.readMountPoints();
    return [...this.places.values()].every(
      (place) => !('real' in place) || mountPointOf(place.real, mountPoints) === place.mountPoint,
    );
  }

  /** Notes what the paths are mounted on, if `isUsed` is true: only a path that has manifests can miss them. */
  noteMountPoints(isUsed: (path: string) => boolean): void {
    for (const [path, place] of this.places) {
      if (place.is === 'away') continue;
      if ('real' in place && place.mountPoint !== '/' && isUsed(path)) this.mountPoints.set(path, place.mountPoint);
      else this.mountPoints.delete(path);
    }
  }

  /** What is wrong with the paths. `newestGoodAt`: when the newest of what still runs for a path was read. */
  problems(newestGoodAt: (path: string) => number | undefined): ManifestProblem[] {
    return this.each((origin, place) => {
      if (!('because' in place)) return problemsOf(place);
      const { because, hint } = place;
      const lastGoodAt = newestGoodAt(origin);
      if (lastGoodAt === undefined) return [{ origin, severity: 'error', message: because, hint }];
      const message = `${because}; what was declared there stands`;
      return [{ origin, severity: 'error', message, hint, lastGoodAt }];
    });
  }

  private each<T>(items: (path: string, place: Place) => T[]): T[] {
    return [...this.places].flatMap(([path, place]) => items(path, place));
  }

  private goneAtOf(file: string, path: string, { is }: Place): number {
    if (is === 'away') return Infinity;
    return file === path ? 0 : (this.losesFilesMs.get(path) ?? 0);
  }

  private placesOf(file: string): [string, Place][] {
    return [...this.places].filter(([path]) => isAt(file, path));
  }

  private readMountPoints(): Promise<string[]> {
    return (this.deps.readMountPoints ?? readMountPoints)();
  }

  private async lookAt(path: string, mountPoints: readonly string[]): Promise<Place> {
    const mountedOn = this.mountPoints.get(path);
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
      return { is: 'folder', real, mountPoint, ...(await this.list(path, stats)) };
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) return away(errorMessage(error), 'Check its permissions.');
      return lookForMissing(path);
    }
  }

  private async list(
    folder: string,
    stats: Stats,
  ): Promise<Pick<Place & { is: 'folder' }, 'files' | 'links' | 'problems'>> {
    const entries = await readdir(folder, { withFileTypes: true });
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    const pathOf = ({ name }: { name: string }): string => join(folder, name);
    const isIgnored = (entry: { name: string }): boolean => this.isIgnored(pathOf(entry));
    // Kubernetes makes volumes of `..data` and what it leads to.
    const named = entries.filter((entry) => isIgnored(entry) && !entry.name.startsWith('..'));
    const problems = named.map((entry) => ignoredProblem(pathOf(entry), entry.isDirectory()));
    return {
      files: entries.filter((entry) => !isIgnored(entry)).map(pathOf),
      links: entries.filter((entry) => entry.isSymbolicLink()).map(pathOf),
      problems: [...ownershipProblems(folder, stats), ...problems],
    };
  }
}

/** True if the file is the path of manifests, or in the folder that it is. */
export function isAt(file: string, path: string): boolean {
  return file === path || dirname(file) === path;
}

const extensions: readonly string[] = ['.yaml', '.yml', '.json'];

/**
 * Why a file in a manifest folder is not read. Returns undefined if it is. The kubelet reads every file that does not
 * begin with a dot, so that a backup beside a manifest fights with it; here only manifests are read
 * (docs/architecture.md).
 */
export function ignoredBecause(path: string): string | undefined {
  const name = basename(path);
  if (name.startsWith('.')) return 'its name begins with a dot';
  if (name.endsWith('~') || (name.startsWith('#') && name.endsWith('#'))) return 'it looks like an editor backup';
  if (!extensions.includes(extname(name))) return `its name does not end in ${extensions.join(', ')}`;
  return undefined;
}

/**
 * Warnings for a manifest, or a folder of manifests, that others than root and we ourselves can change: a user who can
 * write a manifest is root on this machine.
 */
export function ownershipProblems(origin: string, { mode, uid }: Stats): ManifestProblem[] {
  const problems: ManifestProblem[] = [];
  const warn = (message: string, hint: string): void => {
    problems.push({ origin, severity: 'warning', message, hint });
  };
  if ((mode & 0o002) !== 0) warn('everybody on this machine can write to it', 'Take the right away: chmod o-w.');
  if (uid !== 0 && uid !== process.geteuid?.()) {
    warn(`belongs to user ${uid}, who can run anything as root with it`, 'Give it to root: chown root.');
  }
  return problems;
}

/**
 * When files that are missing in a folder of manifests are gone, now that the folder is something else than before.
 * Returns undefined if that stays as it is. Only a folder that was seen takes its files with it: one that was not there
 * at the start is not made yet, or not mounted.
 */
function nextLosesFilesMs(before: Place['is'] | undefined, is: Place['is'], now: number): number | undefined {
  if (is === before || is === 'away') return undefined;
  if (is === 'removed') return before === 'folder' ? now + folderGoneMs : Infinity;
  return is === 'folder' && before !== undefined ? now + folderFilledMs : 0;
}

function ignoredProblem(origin: string, isFolder: boolean): ManifestProblem {
  const because = isFolder ? 'it is a folder, and folders in folders are not read' : (ignoredBecause(origin) ?? '');
  return { origin, severity: 'warning', message: `ignored: ${because}` };
}

function problemsOf(place: Place | undefined): ManifestProblem[] {
  return place?.is === 'folder' ? place.problems : [];
}

async function lookForMissing(path: string): Promise<Place> {
  if (await isThere(path)) return away('is a link to nothing', 'Restore what it leads to.');
  const above = dirname(path);
  if (!(await isThere(above))) {
    return away(`path does not exist, nor does ${above}`, 'Create it; it is read as soon as it is there.');
  }
  const hint = 'Create the file or folder; it is read as soon as it is there.';
  return { is: 'removed', because: 'path does not exist', hint };
}

function away(because: string, hint: string): Place {
  return { is: 'away', isUnmounted: false, because, hint };
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
