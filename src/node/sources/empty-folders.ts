import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import { ignoredBecause } from '../../engine/config/file/manifest-paths.ts';
import { hasCode } from '../../errors.ts';

/** An error for each of these paths that is a folder without a manifest, because validating it would check nothing. */
export async function emptyFolders(paths: readonly string[]): Promise<ManifestProblem[]> {
  const found = await Promise.all(paths.map((path) => emptyFolder(path)));
  return found.flatMap((problem) => problem ?? []);
}

async function emptyFolder(path: string): Promise<ManifestProblem | undefined> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    if (entries.some((entry) => !entry.isDirectory() && ignoredBecause(entry.name) === undefined)) return undefined;
    const hint = entries.some((entry) => entry.isDirectory())
      ? `Folders in folders are not read. Name each of them: ${path.replace(/\/+$/, '')}/*/`
      : 'Name the folder or the files of the manifests.';
    return { origin: resolve(path), severity: 'error', message: 'no manifest is in this folder', hint };
  } catch (error) {
    // Files are skipped, and a missing path has an error already.
    if (hasCode(error, 'ENOTDIR', 'ENOENT')) return undefined;
    throw error;
  }
}
