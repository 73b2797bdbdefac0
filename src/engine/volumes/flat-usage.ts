import { type Dirent, lstat, readdir, type Stats } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../../errors.ts';
import { blockBytes, type TreeUsage } from './disk-usage.ts';

/** A folder that is larger itself may have thousands of entries. */
const maxFolderBytes = 64 * 1024;

/**
 * Disk usage of a small folder of plain files. Resolves with undefined for any other folder, which `treeUsage`
 * measures. Follows its path anew for each file, so it is only for folders that no container can replace.
 */
export async function flatUsage(path: string): Promise<TreeUsage | undefined> {
  const folder = await statsOf(path);
  if (!folder.isDirectory() || folder.size > maxFolderBytes) return undefined;
  const entries = await entriesOf(path);
  if (!entries.every((entry) => entry.isFile())) return undefined;
  const usage: TreeUsage = { bytes: BigInt(folder.blocks) * blockBytes, inodes: 1 };
  for (const { name } of entries) {
    const file = await statsOf(join(path, name)).catch(ifGone);
    if (file === undefined) continue;
    // A file with several names counts once.
    if (file.nlink > 1) return undefined;
    usage.bytes += BigInt(file.blocks) * blockBytes;
    usage.inodes += 1;
  }
  return usage;
}

/** By callbacks, because the calls of node:fs/promises take twice as long. */
const statsOf = (path: string): Promise<Stats> =>
  new Promise((resolve, reject) => {
    lstat(path, (error, stats) => {
      if (error === null) resolve(stats);
      else reject(error);
    });
  });

const entriesOf = (path: string): Promise<Dirent[]> =>
  new Promise((resolve, reject) => {
    readdir(path, { withFileTypes: true }, (error, entries) => {
      if (error === null) resolve(entries);
      else reject(error);
    });
  });

/** The file was removed since it was listed. */
function ifGone(error: unknown): undefined {
  if (!hasCode(error, 'ENOENT')) throw error;
}
