import type { Clock } from '../../../clock.ts';
import type { ManifestProblem } from '../../view/events.ts';
import { mountPointOf, readMountPoints } from '../../host/mount-points.ts';
import { lookAtPath, type PathLook } from './manifest-path.ts';

/** The files of a folder that was removed are gone after this long: another one may be put in its place. */
const folderGoneMs = 1000;
/** Files that are not in a folder that came back are gone after this long: they may be put there one after the other. */
const folderFilledMs = 5000;
/** Between two looks at a path that is not mounted: nobody tells of mounts. */
const mountCheckMs = 1000;

const creationHint = 'Create the file or folder; it is read as soon as it is there.';

interface Deps {
  paths: readonly string[];
  clock: Clock;
  /** Where something is mounted now; undefined: this process asks for itself. */
  readMountPoints?: (() => Promise<string[]>) | undefined;
}

/** The paths of manifests as they were when they were looked at last; all times are monotonic. */
export class ManifestPlaces {
  /** When everything has to be looked at, as a path is not what it was. */
  everythingAgainMs = 0;
  /** When the paths that are not mounted have to be looked at. */
  unmountedAgainMs = Infinity;
  /** By path of manifests: the mount point it is on; noted for the next life, as nothing may be mounted there then. */
  mountPoints = new Map<string, string>();
  private readonly deps: Deps;
  private readonly places = new Map<string, PathLook>();
  /** By folder: when files that are not found in it are gone. At once when there is no entry. */
  private readonly losesFilesMs = new Map<string, number>();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  [Symbol.iterator](): Iterator<[string, PathLook]> {
    return this.places[Symbol.iterator]();
  }

  async lookAtAll(): Promise<void> {
    this.everythingAgainMs = Infinity;
    this.unmountedAgainMs = Infinity;
    for (const [path, place] of await this.look(this.deps.paths)) {
      this.set(path, place);
      if (place.is === 'away' && place.isUnmounted) {
        this.unmountedAgainMs = this.deps.clock.monotonic() + mountCheckMs;
      }
    }
  }

  /** Looks at some of the paths; when one is not what it was, everything has to be looked at. */
  async lookAgainAt(paths: readonly string[]): Promise<void> {
    for (const [path, place] of await this.look(paths)) {
      if (place.is !== this.places.get(path)?.is) this.everythingAgainMs = this.deps.clock.monotonic();
      this.set(path, place);
    }
  }

  /** Looks at the paths that are not mounted, when it is time to. */
  async lookAtUnmounted(): Promise<void> {
    const now = this.deps.clock.monotonic();
    if (this.unmountedAgainMs > now) return;
    this.unmountedAgainMs = now + mountCheckMs;
    await this.lookAgainAt([...this.places].filter(([, place]) => place.is === 'away').map(([path]) => path));
  }

  /** False: what was read since the last look may be what lies below or above a mount, and everything has to be looked at. */
  async areStill(): Promise<boolean> {
    const mountPoints = await this.readMountPoints();
    const areStill = [...this.places.values()].every(
      (place) => !('real' in place) || mountPointOf(place.real, mountPoints) === place.mountPoint,
    );
    if (!areStill) this.everythingAgainMs = this.deps.clock.monotonic();
    return areStill;
  }

  /** False: a file that is not found at this path may be there still, or come back. */
  hasLost(path: string, file: string): boolean {
    const is = this.places.get(path)?.is;
    if (is === 'away') return false;
    if (file === path) return true;
    const atMs = this.losesFilesMs.get(path) ?? 0;
    if (this.deps.clock.monotonic() >= atMs) return true;
    this.everythingAgainMs = Math.min(this.everythingAgainMs, atMs);
    return false;
  }

  /** Notes what the paths are mounted on, those for which `isUsed` is true: only what has manifests can miss them. */
  noteMountPoints(isUsed: (path: string) => boolean): void {
    for (const [path, place] of this.places) {
      if (place.is === 'away') continue;
      if ('mountPoint' in place && place.mountPoint !== '/' && isUsed(path))
        this.mountPoints.set(path, place.mountPoint);
      else this.mountPoints.delete(path);
    }
  }

  /** What is wrong with the paths. `newestGoodAt`: when the newest of what still runs for a path was read. */
  problems(newestGoodAt: (path: string) => number | undefined): ManifestProblem[] {
    return [...this.places].flatMap(([path, place]) => {
      switch (place.is) {
        case 'folder':
          return place.problems;
        case 'file':
          return [];
        case 'removed':
          return [awayProblem(path, { because: 'path does not exist', hint: creationHint }, newestGoodAt(path))];
        case 'away':
          return [awayProblem(path, place, newestGoodAt(path))];
      }
    });
  }

  private readMountPoints(): Promise<string[]> {
    return (this.deps.readMountPoints ?? readMountPoints)();
  }

  private set(path: string, place: PathLook): void {
    const atMs = nextLosesFilesMs(this.places.get(path)?.is, place.is, this.deps.clock.monotonic());
    if (atMs !== undefined) this.losesFilesMs.set(path, atMs);
    this.places.set(path, place);
  }

  private async look(paths: readonly string[]): Promise<Map<string, PathLook>> {
    const mountPoints = await this.readMountPoints();
    const looks = new Map<string, PathLook>();
    for (const path of paths) {
      looks.set(path, await lookAtPath(path, { mountPoints, mountedOn: this.mountPoints.get(path) }));
    }
    return looks;
  }
}

/**
 * When files that are not found in a folder of manifests are gone, now that the folder is something else than before;
 * undefined: that is as it was. Only who saw a folder go may take its files for gone: one that was not there at the start
 * is not made yet, or not mounted.
 */
function nextLosesFilesMs(before: PathLook['is'] | undefined, is: PathLook['is'], now: number): number | undefined {
  if (is === before || is === 'away') return undefined;
  if (is === 'removed') return before === 'folder' ? now + folderGoneMs : Infinity;
  return is === 'folder' && before !== undefined ? now + folderFilledMs : 0;
}

function awayProblem(
  origin: string,
  { because, hint }: { because: string; hint: string },
  lastGoodAt: number | undefined,
): ManifestProblem {
  if (lastGoodAt === undefined) return { origin, severity: 'error', message: because, hint };
  const message = `${because}; what was declared there stands`;
  return { origin, severity: 'error', message, hint, lastGoodAt };
}
