import { lstat } from 'node:fs/promises';
import { ifPresent } from '../host/if-present.ts';
import { walkTree } from '../host/walk-tree.ts';

/** Block size of `stat`'s counts, on every file system. */
export const blockBytes = 512n;

/** Disk usage of a folder and its content. */
export interface TreeUsage {
  bytes: bigint;
  /** Number of files and folders, the folder itself included. */
  inodes: number;
}

/**
 * Disk usage of a folder and its content. Counts a file with several names once and ignores mounts inside. Stops
 * counting when `isEnough` returns true. kubelet: pkg/volume/util/fs/fs.go DiskUsage
 */
export async function treeUsage(path: string, isEnough: (usage: TreeUsage) => boolean): Promise<TreeUsage> {
  const usage: TreeUsage = { bytes: (await lstat(path, { bigint: true })).blocks * blockBytes, inodes: 1 };
  const counted = new Set<string>();
  await walkTree(path, async (folder, { name }) => {
    const stats = await ifPresent(lstat(folder.at(name), { bigint: true }));
    if (stats === undefined) return undefined;
    const { dev, ino, nlink, blocks } = stats;
    const file = `${dev}:${ino}`;
    if (counted.has(file)) return undefined;
    usage.bytes += blocks * blockBytes;
    usage.inodes += 1;
    if (nlink > 1n) counted.add(file);
    return isEnough(usage) ? 'stop' : undefined;
  });
  return usage;
}
