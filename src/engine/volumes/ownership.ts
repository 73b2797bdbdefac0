import { chmod, chown, lchown, lstat } from 'node:fs/promises';
import type { Pod } from '../../api/types.ts';
import { hasCode } from '../../errors.ts';
import { OpenEntry } from '../host/open-entry.ts';
import { walkTree } from '../host/walk-tree.ts';

interface Ownership {
  fsGroup: number | undefined;
  /** True if containers can only read the volume. */
  readOnly: boolean;
  /**
   * True: a volume whose folder has the group and its bits is left alone. As in Kubernetes, this is not for volumes
   * that the node makes or rewrites.
   */
  onRootMismatch?: boolean;
}

/**
 * Gives a volume to the pod's fsGroup. The group may read everything and, unless `readOnly`, write it. New files in its
 * folders belong to the group too. Containers may change the volume meanwhile: no link is followed. kubelet:
 * pkg/volume/volume_linux.go SetVolumeOwnership
 */
export async function setVolumeOwnership(path: string, ownership: Ownership): Promise<void> {
  const { fsGroup: group, readOnly, onRootMismatch = false } = ownership;
  if (group === undefined) return;
  const fileBits = readOnly ? 0o440 : 0o660;
  if (onRootMismatch && (await isGivenTo(path, group, fileBits))) return;
  await walkTree(path, async (folder, { name }) => {
    await giveToGroup(folder.at(name), group, fileBits);
    return undefined;
  });
  await giveToGroup(path, group, fileBits);
}

/** True if the pod wants the ownership of its volumes changed only where it differs. */
export function changesOwnershipOnMismatch({ spec }: Pod): boolean {
  return spec.securityContext?.fsGroupChangePolicy === 'OnRootMismatch';
}

async function isGivenTo(path: string, group: number, fileBits: number): Promise<boolean> {
  const { gid, mode } = await lstat(path);
  const bits = fileBits | folderBits;
  return gid === group && (mode & bits) === bits;
}

const folderBits = 0o2110;

async function giveToGroup(path: string | Buffer, group: number, fileBits: number): Promise<void> {
  try {
    if ((await lstat(path)).isSymbolicLink()) {
      await lchown(path, -1, group);
      return;
    }
    // By descriptor, because a container could put a link in its place.
    await giveEntryToGroup(await OpenEntry.open(path), group, fileBits);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}

async function giveEntryToGroup(entry: OpenEntry, group: number, fileBits: number): Promise<void> {
  try {
    await chown(entry.path, -1, group);
    const mode = Number(entry.stats.mode) & 0o7777;
    await chmod(entry.path, mode | fileBits | (entry.stats.isDirectory() ? folderBits : 0));
  } finally {
    await entry.close();
  }
}
