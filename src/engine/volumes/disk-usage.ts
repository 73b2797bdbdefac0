import { lstat } from 'node:fs/promises';
import { hasCode } from '../../errors.ts';
import { walkTree } from '../host/walk-tree.ts';

/** Block size of `stat`'s counts, on every file system. */
const blockBytes = 512n;

/**
 * Disk usage in bytes of a folder and its content. Counts a file with several names once and ignores mounts inside.
 * Stops counting above `enough`. kubelet: pkg/volume/util/fs/fs.go DiskUsage
 */
export async function diskUsage(path: string, enough: bigint): Promise<bigint> {
  let bytes = (await lstat(path, { bigint: true })).blocks * blockBytes;
  const counted = new Set<string>();
  await walkTree(path, async (folder, { name }) => {
    const stats = await lstat(folder.at(name), { bigint: true }).catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) return undefined;
      throw error;
    });
    if (stats === undefined) return undefined;
    const { dev, ino, nlink, blocks } = stats;
    const file = `${dev}:${ino}`;
    if (!counted.has(file)) bytes += blocks * blockBytes;
    if (nlink > 1n) counted.add(file);
    return bytes > enough ? 'stop' : undefined;
  });
  return bytes;
}
