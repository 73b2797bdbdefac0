import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../../clock.ts';
import { errorMessage, hasCode } from '../../../errors.ts';
import { shellWord } from '../../../text/shell-word.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { mountPointOf, readMountPoints } from '../../host/mount-points.ts';
import { HungPathError, type PathGuard } from '../../host/path-guard.ts';

/** The files of a removed folder are removed after this time, because a new folder may replace it. */
const folderRemovedMs = 1000;
/** Files missing in a recreated folder are removed after this time, because it may be filled file by file. */
const folderFilledMs = 5000;

/** State of a manifest path. */
interface PathState {
  /**
   * `file`: any entry except a folder; ManifestReader finds out whether it can be read. `removed`: the parent folder
   * exists, but the path does not. `away`: it cannot be read, so its manifests are unknown.
   */
  is: 'folder' | 'file' | 'removed' | 'away';
  /** The manifest files to read. */
  files: readonly string[];
  /** The links in the folder. */
  links: readonly string[];
  problems: readonly ManifestProblem[];
  /** Where the path leads. Set if it exists. */
  location?: Location;
  /** True if nothing is mounted at its mount point. */
  isUnmounted?: boolean;
}

interface Target {
  real: string;
  stats: Stats;
}

interface Location extends Target {
  mountPoint: string;
}

/** The file or folder that a path leads to, or the error of reading it. */
type ReadTarget = Target | { error: unknown };

interface Deps {
  /** Without trailing slashes. */
  paths: readonly string[];
  guard: PathGuard;
  clock: Clock;
  /** Lists the current mount points; by default those of this process. */
  readMountPoints?: (() => Promise<string[]>) | undefined;
}

/** The manifest paths, in the state of the last check. */
export class ManifestPaths {
  /** Mount points by path, except the root. Saved for the next start, because they may be unmounted then. */
  mountPoints = new Map<string, string>();
  /** `losesFilesMs`: time after which the missing files of a folder count as removed; monotonic. */
  private readonly states = new Map<string, PathState & { losesFilesMs: number }>();

  constructor(private readonly deps: Deps) {}

  /**
   * Checks the paths that match. Returns `other` if the state of one changed, such as to removed. Returns `problems` if
   * only problems changed, otherwise `same`.
   */
  async check(matches: (path: string) => boolean): Promise<'same' | 'problems' | 'other'> {
    const { targets, mountPoints } = await this.readTargets(this.deps.paths.filter(matches));
    let change: 'same' | 'problems' | 'other' = 'same';
    for (const [path, found] of targets) {
      const before = this.states.get(path);
      const state = await this.checkPath(path, found, mountPoints);
      const losesFilesMs = nextLosesFilesMs(before, state.is, this.deps.clock.monotonic());
      this.states.set(path, { ...state, losesFilesMs });
      if (before?.is !== state.is) change = 'other';
      else if (change === 'same' && !isDeepStrictEqual(before.problems, state.problems)) change = 'problems';
    }
    return change;
  }

  /** Returns the manifest files to read. */
  get files(): string[] {
    return [...this.states.values()].flatMap(({ files }) => files);
  }

  /** Returns the links in the folders. */
  get links(): string[] {
    return [...this.states.values()].flatMap(({ links }) => links);
  }

  /** True if nothing is mounted now at the mount point of some path. */
  get isUnmounted(): boolean {
    return [...this.states.values()].some(({ isUnmounted }) => isUnmounted === true);
  }

  /** Returns the manifest path that a file belongs to. */
  pathOf(file: string): string {
    return this.deps.paths.find((path) => isAt(file, path)) ?? file;
  }

  /** True if every path of this file is away, or has been missing since the start. */
  isAway(file: string): boolean {
    return this.statesOf(file).every(({ removedAtMs }) => removedAtMs === Infinity);
  }

  /** True if the name of a file excludes it. A path that the user named is always read. */
  isIgnored(file: string): boolean {
    return !this.deps.paths.includes(file) && ignoredBecause(file) !== undefined;
  }

  /**
   * Returns the time after which a missing file counts as removed; monotonic. Infinity if its paths must change first.
   */
  removedAtMs(file: string): number {
    return Math.max(0, ...this.statesOf(file).map(({ removedAtMs }) => removedAtMs));
  }

  /** True if this file is not known now, but may have existed in an earlier run, and its paths cannot be read now. */
  mayHaveHad(file: string): boolean {
    return this.statesOf(file).some(({ path, is }) => is === 'away' || (is === 'removed' && file !== path));
  }

  /** False if a path leads elsewhere than at the last check. Files read since then may lie under a mount or on it. */
  async areUnchanged(): Promise<boolean> {
    const existing = [...this.states].flatMap(([path, { location }]) => (location ? [{ path, location }] : []));
    const { targets, mountPoints } = await this.readTargetsAndMounts(existing.map(({ path }) => path));
    return existing.every(({ path, location }) => {
      const found = targets.get(path);
      if (found === undefined || 'error' in found) return false;
      return isSame(location, found) && mountPointOf(found.real, mountPoints) === location.mountPoint;
    });
  }

  /**
   * Records the mount points of the paths for which `isUsed` is true, because only these have manifests that could go
   * missing.
   */
  recordMountPoints(isUsed: (path: string) => boolean): void {
    for (const [path, { is, location }] of this.states) {
      if (is === 'away') continue;
      if (location && location.mountPoint !== '/' && isUsed(path)) this.mountPoints.set(path, location.mountPoint);
      else this.mountPoints.delete(path);
    }
  }

  /** Returns the problems of the paths. `newestGoodAt` returns when the newest good revision of a path was read. */
  problems(newestGoodAt: (path: string) => number | undefined): ManifestProblem[] {
    return [...this.states].flatMap(([path, { problems, location }]) => {
      const lastGoodAt = location === undefined ? newestGoodAt(path) : undefined;
      if (lastGoodAt === undefined) return problems;
      return problems.map((problem) => {
        return { ...problem, message: `${problem.message}; its last good manifests stay in use`, lastGoodAt };
      });
    });
  }

  /** Returns the paths of this file, and when it counts as removed from each. */
  private statesOf(file: string): { path: string; is: PathState['is']; removedAtMs: number }[] {
    return [...this.states].flatMap(([path, { is, losesFilesMs }]) => {
      if (!isAt(file, path)) return [];
      return [{ path, is, removedAtMs: is === 'away' ? Infinity : file === path ? 0 : losesFilesMs }];
    });
  }

  /** Reads the mount points, and passes them to the guard. */
  async readMountPoints(): Promise<string[]> {
    const mountPoints = await (this.deps.readMountPoints ?? readMountPoints)();
    this.deps.guard.mountPoints = mountPoints;
    return mountPoints;
  }

  /** Returns what the paths lead to, and the mount points if that is not what it was at the last check. */
  private async readTargets(
    paths: readonly string[],
  ): Promise<{ targets: Map<string, ReadTarget>; mountPoints?: string[] }> {
    const targets = await this.readEachTarget(paths);
    return this.areOnSameMounts(targets) ? { targets } : this.readTargetsAndMounts(paths, targets);
  }

  /** Returns what the paths lead to and the mount points, both of one moment, however often mounts change. */
  private async readTargetsAndMounts(
    paths: readonly string[],
    before?: Map<string, ReadTarget>,
  ): Promise<{ targets: Map<string, ReadTarget>; mountPoints: string[] }> {
    let targets = before ?? (await this.readEachTarget(paths));
    for (;;) {
      const mountPoints = await this.readMountPoints();
      const after = await this.readEachTarget(paths);
      if (paths.every((path) => areSame(targets.get(path), after.get(path)))) return { targets: after, mountPoints };
      targets = after;
    }
  }

  private async readEachTarget(paths: readonly string[]): Promise<Map<string, ReadTarget>> {
    const targets = new Map<string, ReadTarget>();
    for (const path of paths) {
      targets.set(path, await this.deps.guard.run(path, () => readTarget(path)).catch((error: unknown) => ({ error })));
    }
    return targets;
  }

  /** True if every path leads where it did at the last check. A new mount would show another file or folder. */
  private areOnSameMounts(targets: ReadonlyMap<string, ReadTarget>): boolean {
    return [...targets].every(([path, found]) => {
      const before = this.states.get(path)?.location;
      return before !== undefined && !('error' in found) && isSame(before, found);
    });
  }

  /** Without `mountPoints`, the path keeps its mount point of the last check. */
  private async checkPath(
    path: string,
    found: ReadTarget,
    mountPoints: readonly string[] | undefined,
  ): Promise<PathState> {
    const mountedOn = this.mountPoints.get(path);
    if (mountedOn !== undefined && mountPoints?.includes(mountedOn) === false) {
      const hint =
        'Mount it. To drop the pods declared there, stop the agent and remove <root-dir>/manifests-last-good.';
      return { ...missing('away', path, `nothing is mounted on ${mountedOn}`, hint), isUnmounted: true };
    }
    try {
      if ('error' in found) throw found.error;
      const known = this.states.get(path)?.location?.mountPoint ?? '/';
      const location = { ...found, mountPoint: mountPoints ? mountPointOf(found.real, mountPoints) : known };
      if (!found.stats.isDirectory()) return { is: 'file', files: [path], links: [], problems: [], location };
      return { is: 'folder', ...(await this.deps.guard.run(path, () => this.list(path, found.stats))), location };
    } catch (error) {
      if (error instanceof HungPathError) return missing('away', path, error.message, hungHint(path));
      if (!hasCode(error, 'ENOENT')) return missing('away', path, errorMessage(error), 'Check its permissions.');
      // If the path is missing, its parent folders are read.
      return this.deps.guard
        .run(path, () => stateOfMissing(path))
        .catch((hung: unknown) => missing('away', path, errorMessage(hung), hungHint(path)));
    }
  }

  private async list(folder: string, stats: Stats): Promise<Pick<PathState, 'files' | 'links' | 'problems'>> {
    const entries = await readdir(folder, { withFileTypes: true });
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    const pathOf = ({ name }: { name: string }): string => join(folder, name);
    const isIgnored = (entry: { name: string }): boolean => this.isIgnored(pathOf(entry));
    // Does not warn about `..data` and its targets, because Kubernetes builds volumes from them.
    const named = entries.filter((entry) => isIgnored(entry) && !entry.name.startsWith('..'));
    const problems = named.map((entry) => ignoredProblem(pathOf(entry), entry.isDirectory()));
    return {
      files: entries.filter((entry) => !isIgnored(entry)).map(pathOf),
      links: entries.filter((entry) => entry.isSymbolicLink()).map(pathOf),
      problems: [...ownershipProblems(folder, stats), ...problems],
    };
  }
}

async function readTarget(path: string): Promise<ReadTarget> {
  try {
    const stats = await stat(path);
    return { real: await realpath(path), stats };
  } catch (error) {
    return { error };
  }
}

function isSame(before: Target, { real, stats }: Target): boolean {
  return before.real === real && before.stats.dev === stats.dev && before.stats.ino === stats.ino;
}

/** True if a path leads to the same file or folder as before, or does not exist as before. */
function areSame(before: ReadTarget | undefined, after: ReadTarget | undefined): boolean {
  if (before === undefined || after === undefined) return false;
  if ('error' in before || 'error' in after) return 'error' in before && 'error' in after;
  return isSame(before, after);
}

/** True if the file is the manifest path itself, or directly in that folder. */
export function isAt(file: string, path: string): boolean {
  return file === path || dirname(file) === path;
}

const extensions: readonly string[] = ['.yaml', '.yml', '.json'];

/**
 * Returns why a file in a manifest folder is ignored, or undefined if it is read. The kubelet reads every file that
 * does not begin with a dot, so a backup competes with its manifest. Here only manifests are read
 * (docs/internals/architecture.md).
 */
export function ignoredBecause(path: string): string | undefined {
  const name = basename(path);
  if (name.startsWith('.')) return 'its name begins with a dot';
  if (name.endsWith('~') || (name.startsWith('#') && name.endsWith('#'))) return 'it looks like an editor backup';
  if (!extensions.includes(extname(name))) return `its name does not end in ${extensions.join(', ')}`;
  return undefined;
}

/**
 * Returns warnings if users other than root and our own can change a manifest file or folder. With a manifest they
 * could become root.
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
 * Time after which missing files count as removed, given the old and new state of their folder. A folder that has been
 * missing since the start removes no files, because it may be created or mounted later.
 */
function nextLosesFilesMs(
  before: { is: PathState['is']; losesFilesMs: number } | undefined,
  is: PathState['is'],
  now: number,
): number {
  if (is === before?.is || is === 'away') return before?.losesFilesMs ?? 0;
  if (is === 'removed') return before?.is === 'folder' ? now + folderRemovedMs : Infinity;
  return is === 'folder' && before !== undefined ? now + folderFilledMs : 0;
}

function ignoredProblem(origin: string, isFolder: boolean): ManifestProblem {
  const because = isFolder ? 'it is a folder, and folders in folders are not read' : (ignoredBecause(origin) ?? '');
  return { origin, severity: 'warning', message: `ignored: ${because}` };
}

async function stateOfMissing(path: string): Promise<PathState> {
  if (await exists(path)) return missing('away', path, 'is a broken link', 'Restore the target of the link.');
  const above = dirname(path);
  if (!(await exists(above))) {
    const hint = 'Create it; it is read as soon as it exists.';
    return missing('away', path, `path does not exist, nor does ${above}`, hint);
  }
  const hint = 'Create the file or folder; it is read as soon as it exists.';
  return missing('removed', path, 'path does not exist', hint);
}

export const hungHint = (path: string): string => `Check its server, then check it: findmnt -T ${shellWord(path)}.`;

function missing(is: 'removed' | 'away', origin: string, message: string, hint: string): PathState {
  return { is, files: [], links: [], problems: [{ origin, severity: 'error', message, hint }] };
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}
