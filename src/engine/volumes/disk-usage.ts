import type { BigIntStats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { ifPresent } from '../../files/if-present.ts';
import { type Visit, walkTree } from '../host/walk-tree.ts';

/** Block size of `stat`'s counts, on every file system. */
export const blockBytes = 512n;

/** Disk usage of a folder and its content. */
export interface TreeUsage {
  bytes: bigint;
  /** Number of files and folders, the folder itself included. */
  inodes: number;
  /** True if folders were moved during the count, so some content may be missing from it. */
  isPartial?: true;
}

/** Disk usage as statistics report it. */
interface UsedDisk {
  usedBytes: number;
  inodesUsed: number;
}

/** Converts the usage to numbers. A partial count never falls below `before`. */
export function usedDisk({ bytes, inodes, isPartial }: TreeUsage, before: Partial<UsedDisk> = {}): UsedDisk {
  const used = { usedBytes: Number(bytes), inodesUsed: inodes };
  if (isPartial !== true) return used;
  return {
    usedBytes: Math.max(used.usedBytes, before.usedBytes ?? 0),
    inodesUsed: Math.max(used.inodesUsed, before.inodesUsed ?? 0),
  };
}

/** Limits of a count, because a container can create any number of files and links. */
export interface UsageLimits {
  /** The count stops after this many names. Defaults to a million. */
  maxNames?: number | undefined;
  /** Maximum number of hard-linked files that are counted once each, by inode. Defaults to 50,000. */
  maxLinkedFiles?: number | undefined;
}

/**
 * Disk usage of a folder and its content. Counts a file with several names once and ignores mounts inside. Beyond
 * `maxLinkedFiles`, each name counts as a share of its file. Stops counting when `isEnough` returns true. A folder that
 * a container moves during the count is counted once, and the result may be partial. kubelet: pkg/volume/util/fs/fs.go
 * DiskUsage
 */
export async function treeUsage(
  path: string,
  isEnough: (usage: TreeUsage) => boolean,
  { maxNames = 1_000_000, maxLinkedFiles = 50_000 }: UsageLimits = {},
): Promise<TreeUsage> {
  const usage: TreeUsage = { bytes: (await lstat(path, { bigint: true })).blocks * blockBytes, inodes: 1 };
  const counted = new Set<string>();
  let names = 1;
  const visit: Visit = async (folder, { name }) => {
    names += 1;
    const stats = await ifPresent(lstat(folder.at(name), { bigint: true }));
    if (stats !== undefined) add(usage, stats, { counted, maxLinkedFiles });
    return names >= maxNames || isEnough(usage) ? 'stop' : undefined;
  };
  // Otherwise a container could escape its limits by moving folders.
  const result = await walkTree(path, visit, { survivesMoves: true });
  return { ...usage, inodes: Math.round(usage.inodes), ...(result === 'partial' && { isPartial: true }) };
}

interface LinkedFiles {
  /** Files with several names that were added before. */
  counted: Set<string>;
  maxLinkedFiles: number;
}

function add(usage: TreeUsage, stats: BigIntStats, { counted, maxLinkedFiles }: LinkedFiles): void {
  const { dev, ino, nlink, blocks } = stats;
  const hasSeveralNames = nlink > 1n && !stats.isDirectory();
  const file = `${dev}:${ino}`;
  if (hasSeveralNames && counted.has(file)) return;
  const names = hasSeveralNames && counted.size >= maxLinkedFiles ? nlink : 1n;
  usage.bytes += (blocks * blockBytes) / names;
  usage.inodes += 1 / Number(names);
  if (hasSeveralNames && names === 1n) counted.add(file);
}
