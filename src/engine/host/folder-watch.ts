import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { watch } from 'chokidar';
import type { Clock } from '../../clock.ts';
import type { Logger } from '../../logger.ts';

/** A change in a watched folder. */
export interface FolderChange {
  folder: string;
  /** Name of the changed entry; undefined if the folder itself or any entry may have changed. */
  name: string | undefined;
  /** `written`: content or attributes changed in place. `entry`: the entry was added, removed or replaced. */
  how: 'written' | 'entry';
}

interface Deps {
  onChange: (change: FolderChange) => void;
  clock: Clock;
  logger: Logger;
}

/** A folder that is watched, or whose watch is paused. */
interface Watched {
  /** Device and inode when the watch began, because another folder may replace it. Undefined while paused. */
  identity: string | undefined;
  /** Ends the watch or the pause. */
  close: () => void;
  /** Number of changes since `sinceMs`; monotonic. */
  changes: number;
  sinceMs: number;
}

/** If there are more changes per second, the watch pauses, because chokidar lists the folder after each change. */
const maxChangesASecond = 250;
const restMs = 1000;

/** Reports changes in folders, from inotify: at once, and with the name of the entry. */
export class FolderWatch {
  private readonly watched = new Map<string, Watched>();
  private readonly failed = new Set<string>();

  constructor(private readonly deps: Deps) {}

  /**
   * Watches a folder. Once this has resolved, every change is reported. A missing folder is not watched. Resolves with
   * true if a new watch began.
   */
  async add(folder: string): Promise<boolean> {
    const identity = await identityOf(folder);
    const known = this.watched.get(folder);
    if (known !== undefined && (known.identity === undefined || known.identity === identity)) return false;
    this.drop(folder);
    if (identity === undefined) return false;
    // chokidar watches only the folder. The file source checks the entries.
    const watcher = watch(folder, { ignored: (path) => path !== folder, ignoreInitial: true, atomic: false, depth: 0 });
    const close = (): void => void watcher.close();
    this.watched.set(folder, { identity, close, changes: 0, sinceMs: this.deps.clock.monotonic() });
    watcher.on('raw', (event, name: string | null) => {
      this.changed(folder, event, name);
    });
    watcher.on('error', (error) => {
      this.logFailure(folder, error);
      // The next check of the folder tries again.
      if (this.watched.get(folder)?.close === close) this.drop(folder);
    });
    try {
      await once(watcher, 'ready');
      this.failed.delete(folder);
    } catch {
      // The error was logged above. The rescan finds the changes.
    }
    return this.watched.has(folder);
  }

  /** True if changes of the folder are reported, now or after a pause. */
  isWatching(folder: string): boolean {
    return this.watched.has(folder);
  }

  /** Stops watching all other folders. */
  keepOnly(folders: ReadonlySet<string>): void {
    for (const folder of this.watched.keys()) if (!folders.has(folder)) this.drop(folder);
  }

  private changed(folder: string, event: string, name: string | null): void {
    const { onChange } = this.deps;
    const how = event === 'change' ? 'written' : 'entry';
    // An event with the folder's own name means that the folder was moved, removed or unmounted. The watch is over
    // then.
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
    const close = this.deps.clock.after(restMs, () => {
      this.watched.delete(folder);
      this.deps.onChange({ folder, name: undefined, how: 'entry' });
    });
    this.watched.set(folder, { identity: undefined, close, changes: 0, sinceMs: 0 });
  }

  private drop(folder: string): void {
    this.watched.get(folder)?.close();
    this.watched.delete(folder);
  }

  private logFailure(folder: string, error: unknown): void {
    if (this.failed.has(folder)) return;
    this.failed.add(folder);
    this.deps.logger.warn({ err: error, path: folder }, 'Watching a folder failed; the rescan finds its changes');
  }
}

/** Device and inode. Returns undefined if the folder is missing or cannot be read. */
async function identityOf(folder: string): Promise<string | undefined> {
  const stats = await stat(folder).catch(() => undefined);
  return stats?.isDirectory() === true ? `${stats.dev}:${stats.ino}` : undefined;
}
