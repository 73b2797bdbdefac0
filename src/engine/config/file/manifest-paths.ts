import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../../clock.ts';
import { errorMessage, hasCode } from '../../../errors.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { mountPointOf, readMountPoints } from '../../host/mount-points.ts';

/** The files of a removed folder are removed after this time, because another folder may replace it. */
const folderGoneMs = 1000;
/** Files missing in a recreated folder are removed after this time, because it may be filled file by file. */
const folderFilledMs = 5000;

/** State of a manifest path. */
type Place =
  | { is: 'folder'; files: string[]; links: string[]; real: string; mountPoint: string; problems: ManifestProblem[] }
  /** Any other entry. ManifestReader finds out whether it can be read. */
  | { is: 'file'; real: string; mountPoint: string }
  /** It was removed: its parent folder exists, but it does not. */
  | { is: 'removed'; because: string; hint: string }
  /** It cannot be looked at, so its manifests are unknown. */
  | { is: 'away'; isUnmounted: boolean; because: string; hint: string };

interface Deps {
  /** Without trailing slashes. */
  paths: readonly string[];
  clock: Clock;
  /** Lists the current mount points; by default those of this process. */
  readMountPoints?: (() => Promise<string[]>) | undefined;
}

/** The manifest paths, in their state of the last look. */
export class ManifestPaths {
  /** Mount points by path, except the root. Saved for the next start, because they may be unmounted then. */
  mountPoints = new Map<string, string>();
  private readonly deps: Deps;
  private readonly places = new Map<string, Place>();
  /** By folder: time after which its missing files count as removed; monotonic. At once without an entry. */
  private readonly losesFilesMs = new Map<string, number>();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /**
   * Looks at the paths for which `isMeant` is true. Returns `other` if the state of one changed, such as to removed.
   * Returns `problems` if only problems changed, otherwise `same`.
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

  /** The manifest files to read. */
  get files(): string[] {
    return this.each((path, place) => (place.is === 'file' ? [path] : place.is === 'folder' ? place.files : []));
  }

  /** The links in the folders. */
  get links(): string[] {
    return this.each((_path, place) => (place.is === 'folder' ? place.links : []));
  }

  /** True if a path was on a mount point that is not mounted now. */
  get isUnmounted(): boolean {
    return [...this.places.values()].some((place) => place.is === 'away' && place.isUnmounted);
  }

  /** True if every path of this file is away, or was missing since the start. */
  isAway(file: string): boolean {
    return this.placesOf(file).every(([path, place]) => this.goneAtOf(file, path, place) === Infinity);
  }

  /** True if the name of a file excludes it. A path that the user named is always read. */
  isIgnored(file: string): boolean {
    return !this.deps.paths.includes(file) && ignoredBecause(file) !== undefined;
  }

  /** Time after which a missing file counts as removed; monotonic. Infinity if its paths must change first. */
  goneAtMs(file: string): number {
    return Math.max(0, ...this.placesOf(file).map(([path, place]) => this.goneAtOf(file, path, place)));
  }

  /** True if an unknown file may have existed in an earlier run and cannot be looked for now. */
  mayHaveHad(file: string): boolean {
    return this.placesOf(file).some(([path, { is }]) => is === 'away' || (is === 'removed' && file !== path));
  }

  /** False if a mount changed since the last look. The files read since may then lie below or above it. */
  async areStill(): Promise<boolean> {
    const mountPoints = await this.readMountPoints();
    return [...this.places.values()].every(
      (place) => !('real' in place) || mountPointOf(place.real, mountPoints) === place.mountPoint,
    );
  }

  /** Notes the mount points of the paths for which `isUsed` is true, because only these have manifests to miss. */
  noteMountPoints(isUsed: (path: string) => boolean): void {
    for (const [path, place] of this.places) {
      if (place.is === 'away') continue;
      if ('real' in place && place.mountPoint !== '/' && isUsed(path)) this.mountPoints.set(path, place.mountPoint);
      else this.mountPoints.delete(path);
    }
  }

  /** Problems of the paths. `newestGoodAt` returns the read time of the newest good revision of a path. */
  problems(newestGoodAt: (path: string) => number | undefined): ManifestProblem[] {
    return this.each((origin, place) => {
      if (!('because' in place)) return problemsOf(place);
      const { because, hint } = place;
      const lastGoodAt = newestGoodAt(origin);
      if (lastGoodAt === undefined) return [{ origin, severity: 'error', message: because, hint }];
      const message = `${because}; its last good manifests stay in use`;
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
        'Mount it. To drop the pods declared there, stop the agent and remove <root-dir>/manifests-last-good.';
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
    // No warnings for `..data` and its targets, because Kubernetes builds volumes of them.
    const named = entries.filter((entry) => isIgnored(entry) && !entry.name.startsWith('..'));
    const problems = named.map((entry) => ignoredProblem(pathOf(entry), entry.isDirectory()));
    return {
      files: entries.filter((entry) => !isIgnored(entry)).map(pathOf),
      links: entries.filter((entry) => entry.isSymbolicLink()).map(pathOf),
      problems: [...ownershipProblems(folder, stats), ...problems],
    };
  }
}

/** True if the file is the manifest path itself, or directly in that folder. */
export function isAt(file: string, path: string): boolean {
  return file === path || dirname(file) === path;
}

const extensions: readonly string[] = ['.yaml', '.yml', '.json'];

/**
 * Why a file in a manifest folder is not read. Returns undefined if it is read. The kubelet reads every file that does
 * not begin with a dot, so a backup competes with its manifest. Here only manifests are read (docs/architecture.md).
 */
export function ignoredBecause(path: string): string | undefined {
  const name = basename(path);
  if (name.startsWith('.')) return 'its name begins with a dot';
  if (name.endsWith('~') || (name.startsWith('#') && name.endsWith('#'))) return 'it looks like an editor backup';
  if (!extensions.includes(extname(name))) return `its name does not end in ${extensions.join(', ')}`;
  return undefined;
}

/**
 * Warnings for a manifest file or folder that users other than root and our own can change. Such a user could become
 * root with a manifest.
 */
export function ownershipProblems(origin: string, { mode, uid }: Stats): ManifestProblem[] {
  const problems: ManifestProblem[] = [];
  const warn = (message: string, hint: string): void => {
    problems.push({ origin, severity: 'warning', message, hint });
  };
  if ((mode & 0o002) !== 0) warn('everybody on this machine can write to it', 'Remove the permission: chmod o-w.');
  if (uid !== 0 && uid !== process.geteuid?.()) {
    warn(`belongs to user ${uid}, who can run anything as root with it`, 'Make root the owner: chown root.');
  }
  return problems;
}

/**
 * Time after which missing files count as removed, given the old and new state of their folder. Returns undefined if
 * the time stays. A folder that is missing since the start removes no files, because it may be created or mounted
 * later.
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
  if (await exists(path)) return away('is a link to nothing', 'Restore the target of the link.');
  const above = dirname(path);
  if (!(await exists(above))) {
    return away(`path does not exist, nor does ${above}`, 'Create it; it is read as soon as it exists.');
  }
  const hint = 'Create the file or folder; it is read as soon as it exists.';
  return { is: 'removed', because: 'path does not exist', hint };
}

function away(because: string, hint: string): Place {
  return { is: 'away', isUnmounted: false, because, hint };
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
