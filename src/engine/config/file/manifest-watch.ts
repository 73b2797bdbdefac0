import { join } from 'node:path';
import type { Clock } from '../../../clock.ts';
import type { Logger } from '../../../logger.ts';
import { isFolder } from '../../../files/make-folder.ts';
import { pathSteps } from '../../host/path-steps.ts';
import { type FolderChange, FolderWatch } from '../../host/folder-watch.ts';

/** A possible change. */
export interface ManifestChange {
  /** The changed file; undefined if any of them may have changed. */
  file: string | undefined;
  how: FolderChange['how'];
}

interface Deps {
  onChange: (change: ManifestChange) => void;
  clock: Clock;
  logger: Logger;
}

/** What it means if an entry of a folder changes. */
interface Followed {
  /** Real path. */
  folder: string;
  /** Name of the entry; undefined for all entries of the folder. */
  name?: string;
  /** The manifest file of the entry, or the folder of manifests. Undefined for a folder on the way to a path. */
  leadsTo?: string;
}

/**
 * Reports manifests that may have changed: files in folders, links, the targets of links, and paths that are created,
 * removed or lead to another target.
 *
 * INVARIANTS: every change after a `follow…` resolved is reported. So a caller that first follows and then reads misses
 * no change. When a round is over, the watches that it did not follow are closed.
 */
export class ManifestWatch {
  private readonly onChange: (change: ManifestChange) => void;
  private readonly folders: FolderWatch;
  /** The entries of the last round, plus those that this round added. */
  private followed = new Map<string, Followed>();
  private round = this.followed;
  private isClosed = false;

  constructor({ onChange, ...deps }: Deps) {
    this.onChange = onChange;
    const changed = (change: FolderChange): void => {
      this.changed(change);
    };
    this.folders = new FolderWatch({ onChange: changed, ...deps });
  }

  beginRound(): void {
    this.round = new Map();
  }

  endRound(): void {
    this.followed = this.round;
    this.folders.keepOnly(new Set([...this.followed.values()].map(({ folder }) => folder)));
  }

  /** Follows a file or folder of manifests, which need not exist. */
  async followPath(path: string): Promise<void> {
    await this.follow(async () => {
      const steps = await pathSteps(path);
      const last = steps.at(-1) ?? { folder: '/', name: '' };
      const real = join(last.folder, last.name);
      if (!(await isFolder(real))) return [...steps, { ...last, leadsTo: path }];
      // The watch of a folder also reports its removal, so its own entry needs no watch.
      return [...steps.slice(0, -1), { folder: real, leadsTo: path }];
    });
  }

  /** Follows a link in a folder of manifests to its target. */
  async followLink(file: string): Promise<void> {
    await this.follow(async () => (await pathSteps(file)).map((step) => ({ ...step, leadsTo: file })));
  }

  /** Closes all watches, including those that a check in progress would open. */
  close(): void {
    this.isClosed = true;
    this.folders.keepOnly(new Set());
  }

  private async follow(findWay: () => Promise<Followed[]>): Promise<void> {
    for (let isNew = true; isNew;) {
      isNew = false;
      for (const followed of await findWay()) {
        for (const known of [this.round, this.followed]) known.set(JSON.stringify(followed), followed);
        // A link or folder on the way may have changed before the watch began.
        if (!this.isClosed && (await this.folders.add(followed.folder))) isNew = true;
      }
    }
    if (this.isClosed) this.close();
  }

  private changed({ folder, name, how }: FolderChange): void {
    const all = [...this.followed.values()];
    const concerned = all.filter((one) => one.folder === folder && (one.name ?? name) === name);
    const files = concerned.flatMap((one) => {
      if (one.leadsTo === undefined || name === undefined) return [];
      return one.name === undefined ? join(one.leadsTo, name) : one.leadsTo;
    });
    for (const file of new Set(files)) this.onChange({ file, how });
    // A write in place does not change where the path leads.
    const leads = concerned.some(({ leadsTo }) => leadsTo === undefined) && (how === 'entry' || files.length === 0);
    if (leads || name === undefined) this.onChange({ file: undefined, how });
  }
}
