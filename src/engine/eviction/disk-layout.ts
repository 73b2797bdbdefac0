import type { EvictionSignal, EvictionThreshold } from '../../api/values/eviction-thresholds.ts';

/** How disks are laid out. kubelet: eviction/eviction_manager.go dedicatedImageFs, splitContainerImageFs */
export interface DiskLayout {
  /** Images are not on the file system of the root-dir. */
  dedicatedImageFs: boolean;
  /** Containers are not where their images are. */
  splitContainerImageFs: boolean;
}

/** What of a pod fills a disk. */
export type UsagePart = 'rootfs' | 'logs' | 'volumes';

/** What the node can remove by itself before a pod has to go. */
export type NodeReclaim = 'deadContainers' | 'unusedImages';

type Disk = 'nodefs' | 'imagefs' | 'containerfs';

/** Undefined for signals that are not about a disk. */
export function diskOf(signal: EvictionSignal): Disk | undefined {
  const [disk] = signal.split('.');
  return disk === 'nodefs' || disk === 'imagefs' || disk === 'containerfs' ? disk : undefined;
}

/** What a pod has on a disk. kubelet: eviction/helpers.go buildSignalToRankFunc */
export function usageParts(disk: Disk, { dedicatedImageFs, splitContainerImageFs }: DiskLayout): UsagePart[] {
  if (!dedicatedImageFs) return ['rootfs', 'logs', 'volumes'];
  if (splitContainerImageFs) return disk === 'imagefs' ? [] : ['rootfs', 'logs', 'volumes'];
  return disk === 'nodefs' ? ['logs', 'volumes'] : ['rootfs'];
}

/** What may free space on a disk, in this order. kubelet: eviction/helpers.go buildSignalToNodeReclaimFuncs */
export function nodeReclaims(
  signal: EvictionSignal,
  { dedicatedImageFs, splitContainerImageFs }: DiskLayout,
): NodeReclaim[] {
  const disk = diskOf(signal);
  if (disk === undefined) return [];
  if (!dedicatedImageFs) return ['deadContainers', 'unusedImages'];
  if (splitContainerImageFs) return disk === 'imagefs' ? ['unusedImages'] : ['deadContainers'];
  return disk === 'nodefs' ? [] : ['deadContainers', 'unusedImages'];
}

/**
 * The thresholds with those of containerfs, which are always those of the disk that containers are on.
 * kubelet: eviction/helpers.go UpdateContainerFsThresholds
 */
export function withContainerFsThresholds(
  thresholds: readonly EvictionThreshold[],
  { dedicatedImageFs, splitContainerImageFs }: DiskLayout,
): EvictionThreshold[] {
  const source = dedicatedImageFs && !splitContainerImageFs ? 'imagefs' : 'nodefs';
  const own = thresholds.filter(({ signal }) => diskOf(signal) !== 'containerfs');
  const copies = own.flatMap((threshold): EvictionThreshold[] => {
    if (threshold.signal === `${source}.available`) return [{ ...threshold, signal: 'containerfs.available' }];
    if (threshold.signal === `${source}.inodesFree`) return [{ ...threshold, signal: 'containerfs.inodesFree' }];
    return [];
  });
  return [...own, ...copies];
}
