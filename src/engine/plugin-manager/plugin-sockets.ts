import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import type { Logger } from '../../logger.ts';
import { ifPresent } from '../../files/if-present.ts';
import { FolderWatch } from '../host/folder-watch.ts';
import { untilTick } from '../../flow/ticks.ts';

interface Deps {
  /** Folder with the sockets, and with subfolders that have more. */
  folder: string;
  /** Called when the sockets may have changed since the last `list`. */
  onChange: () => void;
  clock: Clock;
  logger: Logger;
}

/** Period between reads of folders that are not watched. */
const rescanMs = 10_000;
/** More sockets and folders than a folder of plugins has. */
const maxEntries = 1024;
const maxDepth = 8;
/** A folder with more names is not watched, because its watch lists it after each change. */
const maxWatchedNames = 128;
/** How many names of a folder are read. */
const maxNames = 100_000;
const namesAtATime = 64;

/** What reading the folders finds. */
interface Found {
  /** Identities by path. */
  sockets: Map<string, string>;
  folders: number;
  watched: Set<string>;
}

/** The content of one folder. */
interface Content {
  sockets: string[];
  folders: string[];
  /** Number of entries of any kind. */
  names: number;
}

/**
 * Lists and watches the sockets in the folder of plugins. Names that begin with a dot are ignored. kubelet:
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

  /**
   * Lists the identities of the sockets by path. Once this has resolved, every change is reported: at once, or within
   * 10 s in a folder with many names.
   */
  async list(): Promise<Map<string, string>> {
    const found: Found = { sockets: new Map(), folders: 0, watched: new Set() };
    await this.visit(this.deps.folder, found);
    this.folders.keepOnly(found.watched);
    return found.sockets;
  }

  close(): void {
    this.cancelRescan?.();
    this.folders.keepOnly(new Set());
  }

  private async visit(folder: string, found: Found): Promise<void> {
    found.folders += 1;
    const content = await this.contentOf(folder, found);
    for (const path of content.sockets) {
      const stats = await lstat(path, { bigint: true }).catch(() => undefined);
      if (this.hasEnough(found)) return;
      // The birth time distinguishes a new socket that reuses the inode of an old one.
      if (stats?.isSocket() === true) found.sockets.set(path, `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`);
    }
    for (const path of content.folders) {
      if (depthOf(path, this.deps.folder) > maxDepth) continue;
      if (this.hasEnough(found)) return;
      await this.visit(path, found);
    }
  }

  /** Reads the folder, and from then on watches it, unless it has too many names. */
  private async contentOf(folder: string, { watched }: Found): Promise<Content> {
    const content = await readFolder(folder);
    if (content.names > maxWatchedNames) {
      this.rescanLater();
      return content;
    }
    watched.add(folder);
    const isNew = await this.folders.add(folder);
    if (!this.folders.isWatching(folder)) this.rescanLater();
    return isNew ? readFolder(folder) : content;
  }

  private hasEnough({ sockets, folders }: Found): boolean {
    if (sockets.size + folders < maxEntries) return false;
    this.warnOfTooMany();
    return true;
  }

  private rescanLater(): void {
    const { clock, onChange } = this.deps;
    this.cancelRescan?.();
    this.cancelRescan = clock.after(untilTick(clock, rescanMs), onChange);
  }

  private warnOfTooMany(): void {
    if (this.hasTooMany) return;
    this.hasTooMany = true;
    const { logger, folder } = this.deps;
    logger.warn({ path: folder, limit: maxEntries }, 'Too many entries in the folder of plugins; the rest is ignored');
  }
}

const depthOf = (path: string, folder: string): number => path.slice(folder.length).split('/').length - 1;

/** Lists sockets and folders whose names do not begin with a dot, sorted by name. Empty if the folder was removed. */
async function readFolder(folder: string): Promise<Content> {
  const content: Content = { sockets: [], folders: [], names: 0 };
  const entries = await ifPresent(opendir(folder, { bufferSize: namesAtATime }), 'ENOTDIR');
  if (entries === undefined) return content;
  for await (const entry of entries) {
    content.names += 1;
    if (content.names > maxNames) break;
    if (entry.name.startsWith('.')) continue;
    const list = entry.isSocket() ? content.sockets : entry.isDirectory() ? content.folders : undefined;
    // One more than allowed shows that there are too many.
    if (list !== undefined && list.length <= maxEntries) list.push(join(folder, entry.name));
  }
  content.sockets.sort();
  content.folders.sort();
  return content;
}
