import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import type { Clock } from '../../../clock.ts';
import type { Logger } from '../../../logger.ts';

/** Something happened in a folder under watch. */
export interface FolderChange {
  folder: string;
  /** Entry of the folder; undefined: the folder itself, or anything in it. */
  name: string | undefined;
  /** `written`: content or attributes changed in place. `entry`: it came, went, or was replaced. */
  how: 'written' | 'entry';
}

interface Deps {
  onChange: (change: FolderChange) => void;
  clock: Clock;
  logger: Logger;
}

interface Watched {
  /** Of the folder as it was when the watch began; another one may come in its place. */
  identity: string;
  watcher: FSWatcher;
  /** Since `sinceMs`; monotonic. */
  changes: number;
  sinceMs: number;
}

/** chokidar lists a folder after each change. With more changes a second than this, it is listed once a second. */
const maxChangesASecond = 250;
const restMs = 1000;

/** Reports what changes in folders as the kernel reports it (inotify): at once, and with the name of the entry. */
export class FolderWatch {
  private readonly deps: Deps;
  private readonly watched = new Map<string, Watched>();
  private readonly resting = new Map<string, () => void>();
  private readonly failed = new Set<string>();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /**
   * What changes in the folder after this resolved is reported. A folder that is not there is not watched. Returns
   * false if there is no watch that was not there before.
   */
  async add(folder: string): Promise<boolean> {
    const identity = await identityOf(folder);
    if (this.resting.has(folder) || (identity !== undefined && this.watched.get(folder)?.identity === identity)) {
      return false;
    }
    this.drop(folder);
    if (identity === undefined) return false;
    // The entries are ours to look at.
    const watcher = watch(folder, { ignored: (path) => path !== folder, ignoreInitial: true, atomic: false, depth: 0 });
    this.watched.set(folder, { identity, watcher, changes: 0, sinceMs: this.deps.clock.monotonic() });
    watcher.on('raw', (event, name: string | null) => {
      this.changed(folder, event, name);
    });
    watcher.on('error', (error) => {
      this.logFailure(folder, error);
      // The next look at the folder tries again.
      if (this.watched.get(folder)?.watcher === watcher) this.drop(folder);
    });
    try {
      await once(watcher, 'ready');
      this.failed.delete(folder);
    } catch {
      // The error was logged above; the rescan stands in.
    }
    return this.watched.has(folder);
  }

  /** Ends the watch of all folders but these. */
  keepOnly(folders: ReadonlySet<string>): void {
    for (const folder of this.watched.keys()) if (!folders.has(folder)) this.drop(folder);
    for (const [folder, cancel] of this.resting) {
      if (folders.has(folder)) continue;
      cancel();
      this.resting.delete(folder);
    }
  }

  private changed(folder: string, event: string, name: string | null): void {
    const { onChange } = this.deps;
    const how = event === 'change' ? 'written' : 'entry';
    // What happens to the folder itself carries its own name, and ends the watch: it was moved, removed or unmounted.
    const isItself = name === null || (name === basename(folder) && how === 'entry');
    if (isItself) this.drop(folder);
    onChange({ folder, name: isItself ? undefined : name, how });
    if (this.isBusy(folder)) this.rest(folder);
  }

  private isBusy(folder: string): boolean {
    const watched = this.watched.get(folder);
    if (watched === undefined) return false;
    const now = this.deps.clock.monotonic();
    if (now - watched.sinceMs > 1000) Object.assign(watched, { changes: 0, sinceMs: now });
    return ++watched.changes > maxChangesASecond;
  }

  private rest(folder: string): void {
    this.drop(folder);
    const cancel = this.deps.clock.after(restMs, () => {
      this.resting.delete(folder);
      this.deps.onChange({ folder, name: undefined, how: 'entry' });
    });
    this.resting.set(folder, cancel);
  }

  private drop(folder: string): void {
    void this.watched.get(folder)?.watcher.close();
    this.watched.delete(folder);
  }

  private logFailure(folder: string, error: unknown): void {
    if (this.failed.has(folder)) return;
    this.failed.add(folder);
    this.deps.logger.warn({ err: error, path: folder }, 'Watching a folder failed, the rescan still runs');
  }
}

/** Returns undefined if there is no such folder, or it cannot be looked at. */
async function identityOf(folder: string): Promise<string | undefined> {
  return stat(folder).then(
    (stats) => (stats.isDirectory() ? `${stats.dev}:${stats.ino}` : undefined),
    () => undefined,
  );
}
