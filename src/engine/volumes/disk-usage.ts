import { lstat } from 'node:fs/promises';
import { hasCode } from '../../errors.ts';
import { walkTree } from '../host/walk-tree.ts';

/** `stat` counts blocks of this size, whatever the file system uses. */
const blockBytes = 512n;

/**
 * Bytes that a folder and everything in it take on disk, a file with several names once; what is mounted inside is not
 * part of it. Above `enough` it stops counting. kubelet: pkg/volume/util/fs/fs.go DiskUsage
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
