import { lstat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { ManifestProblem } from '../../view/events.ts';
import { ignoredBecause } from './manifest-file-name.ts';

/** The entries of manifest folders that are not read for the names they have. */
export class IgnoredFiles {
  private readonly problemsByPath = new Map<string, ManifestProblem>();

  get problems(): ManifestProblem[] {
    return [...this.problemsByPath.values()];
  }

  clear(): void {
    this.problemsByPath.clear();
  }

  add(path: string, isFolder: boolean): void {
    // How Kubernetes volumes are made: `..data` and what it leads to.
    if (basename(path).startsWith('..')) return;
    const because = isFolder ? 'it is a folder, and folders in folders are not read' : (ignoredBecause(path) ?? '');
    this.problemsByPath.set(path, { origin: path, severity: 'warning', message: `ignored: ${because}` });
  }

  /** Looks whether the entry is there. False: it was before, too; or it was not and is not. */
  async look(path: string): Promise<boolean> {
    const sizeBefore = this.problemsByPath.size;
    const stats = await lstat(path).catch(() => undefined);
    if (stats === undefined) this.problemsByPath.delete(path);
    else this.add(path, stats.isDirectory());
    return this.problemsByPath.size !== sizeBefore;
  }
}
