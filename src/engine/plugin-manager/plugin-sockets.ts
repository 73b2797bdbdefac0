import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import type { Logger } from '../../logger.ts';
import { ifPresent } from '../host/if-present.ts';
import { FolderWatch } from '../host/folder-watch.ts';

interface Deps {
  /** Of the sockets, and of sub-folders with more. */
  folder: string;
  /** The sockets may be others than at the last `list`. */
  onChange: () => void;
  clock: Clock;
  logger: Logger;
}

/** Time until folders that could not be watched are looked at again. */
const rescanMs = 10_000;
/** A folder with more entries, or deeper ones, is not one of plugins. */
const maxEntries = 1024;
const maxDepth = 8;

/**
 * The sockets in the folder of plugins. Names that begin with a dot are ignored. kubelet:
 * pluginmanager/pluginwatcher/plugin_watcher.go
 */
export class PluginSockets {
  private readonly folders: FolderWatch;
  private cancelRescan: (() => void) | undefined;
  private hasTooMany = false;

  constructor(private readonly deps: Deps) {
    this.folders = new FolderWatch({
      ...deps,
      onChange: () => {
        deps.onChange();
      },
    });
  }

  /** Identities of the sockets by path. Every change after this resolved is reported. */
  async list(): Promise<Map<string, string>> {
    const sockets = new Map<string, string>();
    const folders = new Set<string>();
    await this.visit(this.deps.folder, sockets, folders);
    this.folders.keepOnly(folders);
    return sockets;
  }

  close(): void {
    this.cancelRescan?.();
    this.folders.keepOnly(new Set());
  }

  private async visit(folder: string, sockets: Map<string, string>, folders: Set<string>): Promise<void> {
    folders.add(folder);
    await this.folders.add(folder);
    if (!this.folders.isWatching(folder)) this.rescanLater();
    const names = (await ifPresent(readdir(folder), 'ENOTDIR')) ?? [];
    for (const name of names.filter((one) => !one.startsWith('.')).sort()) {
      const path = join(folder, name);
      const stats = await lstat(path, { bigint: true }).catch(() => undefined);
      if (sockets.size + folders.size >= maxEntries) {
        this.warnOfTooMany();
        return;
      }
      // The time tells a new socket from an old one whose inode it got.
      if (stats?.isSocket() === true) sockets.set(path, `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`);
      else if (stats?.isDirectory() === true && depthOf(path, this.deps.folder) <= maxDepth)
        await this.visit(path, sockets, folders);
    }
  }

  private rescanLater(): void {
    this.cancelRescan?.();
    this.cancelRescan = this.deps.clock.after(rescanMs, this.deps.onChange);
  }

  private warnOfTooMany(): void {
    if (this.hasTooMany) return;
    this.hasTooMany = true;
    const { logger, folder } = this.deps;
    logger.warn({ path: folder, limit: maxEntries }, 'Too many entries in the folder of plugins; the rest is ignored');
  }
}

const depthOf = (path: string, folder: string): number => path.slice(folder.length).split('/').length - 1;
