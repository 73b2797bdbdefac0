import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../../clock.ts';
import type { Logger } from '../../../logger.ts';
import { pathSteps } from '../../host/path-steps.ts';
import { type FolderChange, FolderWatch } from './folder-watch.ts';

/** What may have changed. */
export interface ManifestChange {
  /** This file only; undefined: anything. */
  file: string | undefined;
  how: FolderChange['how'];
}

interface Deps {
  onChange: (change: ManifestChange) => void;
  clock: Clock;
  logger: Logger;
}

/** What it means that an entry of a folder changes. */
interface Followed {
  /** Real path. */
  folder: string;
  /** Undefined: any entry of the folder. */
  name?: string;
  /** The file that the entry leads to, or the folder of manifests. Undefined if it decides where a path leads. */
  leadsTo?: string;
}

/**
 * Reports which manifests may have changed: files in folders, files that links lead to wherever they are, the links
 * themselves, and paths that come, go or lead elsewhere.
 *
 * INVARIANTS: what changes after a `follow…` resolved is reported; a caller that follows first and looks then misses
 * nothing. A round ends the watch of what was not followed in it.
 */
export class ManifestWatch {
  private readonly onChange: (change: ManifestChange) => void;
  private readonly folders: FolderWatch;
  /** In this round, or in the last one. */
  private followed: Followed[] = [];
  private round = this.followed;

  constructor({ onChange, ...deps }: Deps) {
    this.onChange = onChange;
    const changed = (change: FolderChange): void => {
      this.changed(change);
    };
    this.folders = new FolderWatch({ onChange: changed, ...deps });
  }

  beginRound(): void {
    this.round = [];
  }

  endRound(): void {
    this.followed = this.round;
    this.folders.keepOnly(new Set(this.followed.map(({ folder }) => folder)));
  }

  /** Follows a file or folder of manifests, which need not exist. */
  async followPath(path: string): Promise<void> {
    await this.follow(async () => {
      const steps = await pathSteps(path);
      const last = steps.at(-1) ?? { folder: '/', name: '' };
      const real = join(last.folder, last.name);
      if (!(await isFolder(real))) return [...steps, { ...last, leadsTo: path }];
      // Of its own entry a folder reports itself what matters.
      return [...steps.slice(0, -1), { folder: real, leadsTo: path }];
    });
  }

  /** Follows a link in a folder of manifests to wherever it leads. */
  async followLink(file: string): Promise<void> {
    await this.follow(async () => (await pathSteps(file)).map((step) => ({ ...step, leadsTo: file })));
  }

  close(): void {
    this.folders.keepOnly(new Set());
  }

  private async follow(findWay: () => Promise<Followed[]>): Promise<void> {
    for (let isNew = true; isNew;) {
      isNew = false;
      for (const followed of await findWay()) {
        this.round.push(followed);
        if (this.round !== this.followed) this.followed.push(followed);
        // The way may have become another one before the watch began.
        if (await this.folders.add(followed.folder)) isNew = true;
      }
    }
  }

  private changed({ folder, name, how }: FolderChange): void {
    const concerned = this.followed.filter((one) => one.folder === folder && (one.name ?? name) === name);
    const files = concerned.flatMap((one) => {
      if (one.leadsTo === undefined || name === undefined) return [];
      return one.name === undefined ? join(one.leadsTo, name) : one.leadsTo;
    });
    for (const file of new Set(files)) this.onChange({ file, how });
    // A file that is written in place is still that file.
    const leads = concerned.some(({ leadsTo }) => leadsTo === undefined) && (how === 'entry' || files.length === 0);
    if (leads || name === undefined) this.onChange({ file: undefined, how });
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}
