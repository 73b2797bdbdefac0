import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { FSWatcher } from 'chokidar';
import type { Logger } from '../../../logger.ts';

/** Something happened in a folder under watch. */
export interface FolderChange {
  folder: string;
  /** Entry of the folder; undefined: the folder itself, or nobody knows. */
  name: string | undefined;
  /** `written`: its content or attributes changed in place; `entry`: it came, went, or another one came in its place. */
  how: 'written' | 'entry';
}

interface Deps {
  onChange: (change: FolderChange) => void;
  logger: Logger;
}

interface Watched {
  /** Of the folder as it was when the watch began; another one may come in its place. */
  identity: string;
  watcher: FSWatcher;
}

/**
 * chokidar as far as the kernel's own events: it keeps no listing of a folder, which it would read whole at every change.
 * With a thousand manifests that costs forty times what the change itself does.
 */
class KernelEvents extends FSWatcher {
  override _readdirp(): undefined {
    return undefined;
  }
}

/** Tells what changes in folders, as the kernel reports it (inotify); the kernel names what changed. */
export class FolderWatch {
  private readonly deps: Deps;
  private readonly watched = new Map<string, Watched>();
  private readonly failed = new Set<string>();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** What changes in the folder after this resolved is told. A folder that is not there is not watched. */
  async add(folder: string): Promise<void> {
    const identity = await identityOf(folder);
    if (identity !== undefined && this.watched.get(folder)?.identity === identity) return;
    this.drop(folder);
    if (identity === undefined) return;
    const watcher = new KernelEvents({ depth: 0, ignoreInitial: true });
    this.watched.set(folder, { identity, watcher });
    watcher.on('raw', (event, name: string | null) => {
      this.told(folder, event, name);
    });
    watcher.on('error', (error) => {
      this.sayFailure(folder, error);
      // The next look at the folder tries again.
      if (this.watched.get(folder)?.watcher === watcher) this.drop(folder);
    });
    watcher.add(folder);
    try {
      await once(watcher, 'ready');
      this.failed.delete(folder);
    } catch {
      // The error was told above; the rescan stands in.
    }
  }

  /** Ends the watch of all folders but these. */
  keepOnly(folders: ReadonlySet<string>): void {
    for (const folder of [...this.watched.keys()]) if (!folders.has(folder)) this.drop(folder);
  }

  private told(folder: string, event: string, name: string | null): void {
    const how = event === 'change' ? 'written' : 'entry';
    // What happens to the folder itself carries its own name, and ends the watch: it was moved, removed or unmounted.
    const isItself = name === null || (name === basename(folder) && how === 'entry');
    if (isItself) this.drop(folder);
    this.deps.onChange({ folder, name: isItself ? undefined : name, how });
  }

  private drop(folder: string): void {
    void this.watched.get(folder)?.watcher.close();
    this.watched.delete(folder);
  }

  private sayFailure(folder: string, error: unknown): void {
    if (this.failed.has(folder)) return;
    this.failed.add(folder);
    this.deps.logger.warn({ err: error, path: folder }, 'Watching a folder failed, the rescan still runs');
  }
}

/** Undefined when there is no such folder. */
async function identityOf(folder: string): Promise<string | undefined> {
  try {
    const stats = await stat(folder);
    return stats.isDirectory() ? `${stats.dev}:${stats.ino}` : undefined;
  } catch {
    // Whatever keeps us from looking at it keeps us from watching it.
    return undefined;
  }
}
