import { statfs } from 'node:fs/promises';

/** `native` copies whole layers: slow, but works on any file system. */
export type Snapshotter = 'overlayfs' | 'native';

/**
 * File systems that cannot hold an overlay's upper layer (statfs(2) f_type): overlayfs, for a root-dir inside a
 * container, and NFS.
 */
const noUpperLayer: readonly number[] = [0x794c7630, 0x6969];

/** Returns the snapshotter that works in this folder, which must exist. */
export async function chooseSnapshotter(folder: string): Promise<Snapshotter> {
  const { type } = await statfs(folder);
  return noUpperLayer.includes(type) ? 'native' : 'overlayfs';
}
