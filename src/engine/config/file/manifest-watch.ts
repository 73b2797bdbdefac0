import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../../logger.ts';
import { type FolderChange, FolderWatch } from './folder-watch.ts';
import { type PathStep, pathSteps } from './path-steps.ts';

/** What may have changed. */
export interface ManifestChange {
  /** This file only; undefined: anything. */
  file: string | undefined;
  how: FolderChange['how'];
}

interface Deps {
  onChange: (change: ManifestChange) => void;
  logger: Logger;
}

/** What it means that an entry of a folder changes. */
interface Meaning {
  /** Files that are found by way of it. */
  files: Set<string>;
  /** Where a path of manifests leads is decided by it. */
  leads: boolean;
}

interface FolderMeaning {
  /** Paths of manifests that the folder is: each of its entries is a file of theirs. */
  paths: Set<string>;
  names: Map<string, Meaning>;
}

/**
 * Tells which manifests may have changed: files in folders, files that links lead to wherever they are, the links
 * themselves, and paths that come, go or lead elsewhere.
 *
 * INVARIANTS: what changes after a `follow…` resolved is told; who follows first and looks then misses nothing. A round
 * ends the watch of what was not followed in it.
 */
export class ManifestWatch {
  private readonly onChange: (change: ManifestChange) => void;
  private readonly folders: FolderWatch;
  /** By folder: of the last round, and what was followed since. */
  private meanings = new Map<string, FolderMeaning>();
  private round = this.meanings;

  constructor({ onChange, logger }: Deps) {
    this.onChange = onChange;
    const told = (change: FolderChange): void => {
      this.told(change);
    };
    this.folders = new FolderWatch({ onChange: told, logger });
  }

  beginRound(): void {
    this.round = new Map();
  }

  endRound(): void {
    this.meanings = this.round;
    this.folders.keepOnly(new Set(this.meanings.keys()));
  }

  /** Follows a file or folder of manifests, which need not exist. */
  async followPath(path: string): Promise<void> {
    const steps = await pathSteps(path);
    const last = steps.at(-1) ?? { folder: '/', name: '' };
    const real = join(last.folder, last.name);
    const isFolder = await isFolderAt(real);
    for (const step of steps) {
      await this.follow(step, (meaning) => {
        meaning.leads = true;
        if (step === last && !isFolder) meaning.files.add(path);
      });
    }
    if (!isFolder) return;
    for (const meanings of [this.meanings, this.round]) meaningOf(meanings, real).paths.add(path);
    await this.folders.add(real);
  }

  /** Follows a link in a folder of manifests to wherever it leads. */
  async followLink(file: string): Promise<void> {
    for (const step of await pathSteps(file)) await this.follow(step, ({ files }) => files.add(file));
  }

  close(): void {
    this.folders.keepOnly(new Set());
  }

  private async follow({ folder, name }: PathStep, mean: (meaning: Meaning) => void): Promise<void> {
    for (const meanings of [this.meanings, this.round]) {
      const { names } = meaningOf(meanings, folder);
      const meaning = names.get(name) ?? { files: new Set(), leads: false };
      names.set(name, meaning);
      mean(meaning);
    }
    await this.folders.add(folder);
  }

  private told({ folder, name, how }: FolderChange): void {
    if (name === undefined) {
      this.onChange({ file: undefined, how });
      return;
    }
    const { paths, names } = meaningOf(this.meanings, folder);
    for (const path of paths) this.onChange({ file: join(path, name), how });
    const { files, leads } = names.get(name) ?? { files: new Set(), leads: false };
    for (const file of files) this.onChange({ file, how });
    // A file that is written in place is still that file.
    if (leads && (how === 'entry' || files.size === 0)) this.onChange({ file: undefined, how });
  }
}

function meaningOf(meanings: Map<string, FolderMeaning>, folder: string): FolderMeaning {
  const meaning = meanings.get(folder) ?? { paths: new Set(), names: new Map() };
  meanings.set(folder, meaning);
  return meaning;
}

async function isFolderAt(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}
