import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ifPresent } from '../../files/if-present.ts';
import { blockBytes, type TreeUsage } from './disk-usage.ts';

/** A larger folder may have thousands of entries. */
const maxFolderBytes = 64 * 1024;

/**
 * Disk usage of a small folder of plain files. Resolves with undefined for any other folder; use `treeUsage` for those.
 * Resolves the path again for each file, so use it only for folders that containers cannot replace.
 */
export async function flatUsage(path: string): Promise<TreeUsage | undefined> {
  const folder = await lstat(path);
  if (!folder.isDirectory() || folder.size > maxFolderBytes) return undefined;
  const entries = await readdir(path, { withFileTypes: true });
  if (!entries.every((entry) => entry.isFile())) return undefined;
  const usage: TreeUsage = { bytes: BigInt(folder.blocks) * blockBytes, inodes: 1 };
  for (const { name } of entries) {
    const file = await ifPresent(lstat(join(path, name)));
    if (file === undefined) continue;
    // A file with several names counts once.
    if (file.nlink > 1) return undefined;
    usage.bytes += BigInt(file.blocks) * blockBytes;
    usage.inodes += 1;
  }
  return usage;
}
