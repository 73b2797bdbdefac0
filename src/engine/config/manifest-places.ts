import type { Clock } from '../../clock.ts';
import type { ManifestProblem } from '../events.ts';
import { readMountPoints } from '../mount-points.ts';
import { lookAtPath, type PathLook } from './manifest-path.ts';

/** The files of a folder that was removed are gone after this long: another one may be put in its place. */
const folderGoneMs = 1000;
/** Between two looks at a path that is not mounted: nobody tells of mounts. */
const mountCheckMs = 1000;

interface Deps {
  paths: readonly string[];
  clock: Clock;
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
  private readonly removedSinceMs = new Map<string, number>();

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
      this.places.set(path, place);
      if (place.is !== 'removed') this.removedSinceMs.delete(path);
      if (place.is === 'away' && place.isUnmounted) {
        this.unmountedAgainMs = this.deps.clock.monotonic() + mountCheckMs;
      }
    }
  }

  /** Looks at some of the paths; when one is not what it was, everything has to be looked at. */
  async lookAgainAt(paths: readonly string[]): Promise<void> {
    for (const [path, place] of await this.look(paths)) {
      if (place.is !== this.places.get(path)?.is) this.everythingAgainMs = this.deps.clock.monotonic();
      this.places.set(path, place);
    }
  }

  /** Looks at the paths that are not mounted, when it is time to. */
  async lookAtUnmounted(): Promise<void> {
    const now = this.deps.clock.monotonic();
    if (this.unmountedAgainMs > now) return;
    this.unmountedAgainMs = now + mountCheckMs;
    await this.lookAgainAt([...this.places].filter(([, place]) => place.is === 'away').map(([path]) => path));
  }

  /** False: a file that is not found at this path may be there still. */
  hasLost(path: string, file: string): boolean {
    const place = this.places.get(path);
    if (place?.is === 'away') return false;
    if (place?.is !== 'removed' || file === path) return true;
    const now = this.deps.clock.monotonic();
    const sinceMs = this.removedSinceMs.get(path) ?? now;
    this.removedSinceMs.set(path, sinceMs);
    if (now - sinceMs >= folderGoneMs) return true;
    this.everythingAgainMs = Math.min(this.everythingAgainMs, sinceMs + folderGoneMs);
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
          return [
            errorAt(path, 'path does not exist', 'Create the file or folder; it is read as soon as it is there.'),
          ];
        case 'away': {
          const at = newestGoodAt(path);
          if (at === undefined) return [errorAt(path, place.because, place.hint)];
          const because = `${place.because}; what was declared there stands`;
          return [{ ...errorAt(path, because, place.hint), lastGoodAt: at }];
        }
      }
    });
  }

  private async look(paths: readonly string[]): Promise<Map<string, PathLook>> {
    const mountPoints = await readMountPoints();
    const looks = new Map<string, PathLook>();
    for (const path of paths) {
      looks.set(path, await lookAtPath(path, { mountPoints, mountedOn: this.mountPoints.get(path) }));
    }
    return looks;
  }
}

function errorAt(origin: string, message: string, hint: string): ManifestProblem {
  return { origin, severity: 'error', message, hint };
}
