import type { FilesystemSize } from '../host/filesystem-size.ts';

/** When images are removed, and how many of them. kubelet: images/image_gc_manager.go ImageGCPolicy */
export interface ImageGCPolicy {
  /** Removal starts at this usage of the file system. */
  highThresholdPercent: number;
  /** Removal stops at this usage. */
  lowThresholdPercent: number;
  /** Younger images are kept, because they may be used soon. */
  minAgeMs: number;
  /** Images that were unused for longer are removed whatever the disk usage. 0 turns this off. */
  maxAgeMs: number;
}

/** An image in the collector's records. */
export interface ImageRecord {
  id: string;
  sizeBytes: bigint;
  /** True if the runtime refuses to remove it. */
  pinned: boolean;
  inUse: boolean;
  firstDetectedAtMonotonic: number;
  /** 0 if never seen in use. */
  lastUsedAtMonotonic: number;
}

export interface ImageGCPlan {
  /** In the order of removal. */
  imagesToRemove: ImageRecord[];
  /** Why not enough can be freed. Undefined if enough can. */
  failure?: 'InvalidDiskCapacity' | 'FreeDiskSpaceFailed';
  /** How much space must be freed on the disk. Absent if none. */
  bytesToFree?: bigint;
}

interface GCTime {
  nowMonotonic: number;
  /** When the agent started, because earlier uses were not recorded. */
  startedAtMonotonic: number;
}

/**
 * Plans one collection: images that are too old, then on a full disk the least recently used ones. kubelet:
 * images/image_gc_manager.go GarbageCollect
 */
export function computeImageGC(
  images: readonly ImageRecord[],
  filesystem: FilesystemSize,
  policy: ImageGCPolicy,
  time: GCTime,
): ImageGCPlan {
  const { capacityBytes, availableBytes } = filesystem;
  const candidates = inEvictionOrder(images);
  const old = candidates.filter((image) => isTooOld(image, policy, time));
  if (capacityBytes === 0n) return { imagesToRemove: old, failure: 'InvalidDiskCapacity' };

  if (usagePercent(filesystem) < policy.highThresholdPercent) return { imagesToRemove: old };
  const available = availableBytes < capacityBytes ? availableBytes : capacityBytes;
  const bytesToFree = (capacityBytes * BigInt(100 - policy.lowThresholdPercent)) / 100n - available;
  const rest = candidates.filter((image) => !old.includes(image));
  const { imagesToRemove, freedBytes } = freeSpace(rest, bytesToFree, policy, time.nowMonotonic);
  return {
    imagesToRemove: [...old, ...imagesToRemove],
    bytesToFree,
    ...(freedBytes < bytesToFree && { failure: 'FreeDiskSpaceFailed' as const }),
  };
}

/** Returns the usage of a file system in whole percent, rounded up. Its capacity must not be 0. */
export function usagePercent({ capacityBytes, availableBytes }: FilesystemSize): number {
  return availableBytes < capacityBytes ? 100 - Number((availableBytes * 100n) / capacityBytes) : 0;
}

/** True if the image has been unused for longer than the maximum age. */
export function isTooOld(
  { lastUsedAtMonotonic }: ImageRecord,
  { maxAgeMs }: ImageGCPolicy,
  { nowMonotonic, startedAtMonotonic }: GCTime,
): boolean {
  const limitMonotonic = nowMonotonic - maxAgeMs;
  return maxAgeMs !== 0 && startedAtMonotonic < limitMonotonic && lastUsedAtMonotonic < limitMonotonic;
}

/** Returns all images without a container, for a disk under pressure. kubelet: DeleteUnusedImages */
export function unusedImages(
  images: readonly ImageRecord[],
  policy: ImageGCPolicy,
  nowMonotonic: number,
): ImageRecord[] {
  return inEvictionOrder(images).filter((image) => isCollectable(image, policy, nowMonotonic));
}

/** Returns the removable images, least recently used first. */
function inEvictionOrder(images: readonly ImageRecord[]): ImageRecord[] {
  return images
    .filter(({ inUse, pinned }) => !inUse && !pinned)
    .sort(
      (a, b) =>
        a.lastUsedAtMonotonic - b.lastUsedAtMonotonic || a.firstDetectedAtMonotonic - b.firstDetectedAtMonotonic,
    );
}

function freeSpace(
  candidates: readonly ImageRecord[],
  bytesToFree: bigint,
  policy: ImageGCPolicy,
  nowMonotonic: number,
): { imagesToRemove: ImageRecord[]; freedBytes: bigint } {
  const imagesToRemove: ImageRecord[] = [];
  let freedBytes = 0n;
  for (const image of candidates) {
    if (!isCollectable(image, policy, nowMonotonic)) continue;
    imagesToRemove.push(image);
    freedBytes += image.sizeBytes;
    if (freedBytes >= bytesToFree) break;
  }
  return { imagesToRemove, freedBytes };
}

function isCollectable(
  { lastUsedAtMonotonic, firstDetectedAtMonotonic }: ImageRecord,
  { minAgeMs }: ImageGCPolicy,
  nowMonotonic: number,
): boolean {
  return lastUsedAtMonotonic < nowMonotonic && nowMonotonic - firstDetectedAtMonotonic >= minAgeMs;
}
