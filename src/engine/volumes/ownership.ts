import { chmod, lchown, lstat } from 'node:fs/promises';
import { walkTree } from '../host/walk-tree.ts';

/** As in Kubernetes, `OnRootMismatch` does not apply to these volumes, because the node makes or rewrites them. */
interface Ownership {
  fsGroup: number | undefined;
  /** True if containers can only read the volume. */
  readOnly: boolean;
}

/**
 * Gives a volume to the pod's fsGroup. The group may read everything and, unless `readOnly`, write it. New files in its
 * folders belong to the group too. Only for volumes that no container uses yet. kubelet: pkg/volume/volume_linux.go
 * SetVolumeOwnership
 */
export async function setVolumeOwnership(path: string, { fsGroup, readOnly }: Ownership): Promise<void> {
  if (fsGroup === undefined) return;
  const group = fsGroup;
  const fileBits = readOnly ? 0o440 : 0o660;
  await walkTree(path, async (folder, { name }) => {
    await giveToGroup(folder.at(name), group, fileBits);
    return undefined;
  });
  await giveToGroup(path, group, fileBits);
}

async function giveToGroup(path: string | Buffer, group: number, fileBits: number): Promise<void> {
  const stats = await lstat(path);
  await lchown(path, -1, group);
  if (stats.isSymbolicLink()) return;
  const folderBits = stats.isDirectory() ? 0o2110 : 0;
  await chmod(path, (stats.mode & 0o7777) | fileBits | folderBits);
}
