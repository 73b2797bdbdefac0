import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import type { Logger } from '../../logger.ts';

interface Deps {
  /** Files or folders of manifests, which need not exist. */
  paths: readonly string[];
  /** Something may have changed at one of them. */
  onChange: () => void;
  logger: Logger;
}

/** One folder under watch. */
interface Watched {
  /** Of the folder as it was when the watch began; another one may come in its place. */
  identity: string;
  watcher: FSWatcher;
}

/**
 * Tells when to look at manifests again, as the kernel reports it.
 *
 * INVARIANTS: what changes after a `refresh` is told. For a path that does not exist the nearest folder above it is
 * watched, so that its coming is told; whoever is told refreshes and looks, in this order, and so misses nothing.
 */
export class ManifestWatch {
  private readonly deps: Deps;
  private readonly watched = new Map<string, Watched>();
  /** By folder: the names in it that count; undefined: all of them. */
  private concerns = new Map<string, Set<string> | undefined>();
  private readonly failed = new Set<string>();

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** Watches what is there now. */
  async refresh(): Promise<void> {
    const identities = new Map<string, string>();
    this.concerns = new Map();
    for (const path of this.deps.paths) await this.findFolders(path, identities);
    for (const [folder, { identity, watcher }] of this.watched) {
      if (identities.get(folder) === identity) continue;
      await watcher.close();
      this.watched.delete(folder);
    }
    const added = [...identities].filter(([folder]) => !this.watched.has(folder));
    await Promise.all(added.map(([folder, identity]) => this.watch(folder, identity)));
  }

  async close(): Promise<void> {
    await Promise.all([...this.watched.values()].map(({ watcher }) => watcher.close()));
    this.watched.clear();
  }

  /** The path itself when it is a folder, and the nearest folder above it that exists. */
  private async findFolders(path: string, identities: Map<string, string>): Promise<void> {
    const own = await identityOf(path);
    if (own !== undefined) {
      identities.set(path, own);
      this.concerns.set(path, undefined);
    }
    for (let below = path; dirname(below) !== below; below = dirname(below)) {
      const folder = dirname(below);
      const identity = await identityOf(folder);
      if (identity === undefined) continue;
      identities.set(folder, identity);
      this.addConcern(folder, basename(below));
      return;
    }
  }

  private addConcern(folder: string, name: string): void {
    if (!this.concerns.has(folder)) this.concerns.set(folder, new Set());
    this.concerns.get(folder)?.add(name);
  }

  /** Resolves when the kernel reports changes. */
  private async watch(folder: string, identity: string): Promise<void> {
    const { onChange, logger } = this.deps;
    // Of the folder alone: its events name what changed in it, and reading that is the source's job.
    const watcher = watch(folder, { depth: 0, ignoreInitial: true, ignored: (path) => path !== folder });
    this.watched.set(folder, { identity, watcher });
    watcher.on('raw', (_event, name: string | null) => {
      // An event about the folder itself carries its own name.
      const names = this.concerns.get(folder);
      if (names === undefined || name === null || names.has(name) || name === basename(folder)) onChange();
    });
    watcher.on('error', (error) => {
      if (this.failed.has(folder)) return;
      this.failed.add(folder);
      logger.warn({ err: error, path: folder }, 'Watching a folder failed, the rescan still runs');
    });
    // An error was told above; the rescan stands in.
    await once(watcher, 'ready').catch(() => undefined);
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
