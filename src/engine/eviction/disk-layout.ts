import type { EvictionSignal, EvictionThreshold } from '../../api/values/eviction-thresholds.ts';

/**
 * Which disks hold the root-dir, images and containers. kubelet: eviction/eviction_manager.go dedicatedImageFs,
 * splitContainerImageFs
 */
export interface DiskLayout {
  /** True if images are on a different file system than the root-dir. */
  dedicatedImageFs: boolean;
  /** True if containers are on a different file system than images. */
  splitContainerImageFs: boolean;
}

/** A part of a pod's disk usage. */
export type UsagePart = 'rootfs' | 'logs' | 'volumes';

/** A resource that the node can free before it evicts a pod. */
export type NodeReclaim = 'deadContainers' | 'unusedImages';

type Disk = 'nodefs' | 'imagefs' | 'containerfs';

/** Returns undefined if the signal is not about a disk. */
export function diskOf(signal: EvictionSignal): Disk | undefined {
  const [disk] = signal.split('.');
  return disk === 'nodefs' || disk === 'imagefs' || disk === 'containerfs' ? disk : undefined;
}

/** Returns the parts of a pod's usage that are on a disk. kubelet: eviction/helpers.go buildSignalToRankFunc */
export function usageParts(disk: Disk, { dedicatedImageFs, splitContainerImageFs }: DiskLayout): UsagePart[] {
  if (!dedicatedImageFs) return ['rootfs', 'logs', 'volumes'];
  if (splitContainerImageFs) return disk === 'imagefs' ? [] : ['rootfs', 'logs', 'volumes'];
  return disk === 'nodefs' ? ['logs', 'volumes'] : ['rootfs'];
}

/** Returns what the node can free on a disk, in order. kubelet: eviction/helpers.go buildSignalToNodeReclaimFuncs */
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
 * Adds the thresholds of containerfs, which always equal those of the disk that holds the containers. kubelet:
 * eviction/helpers.go UpdateContainerFsThresholds
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
