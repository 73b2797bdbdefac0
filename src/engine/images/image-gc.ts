/** When images are removed, and which. kubelet: images/image_gc_manager.go ImageGCPolicy */
export interface ImageGCPolicy {
  /** From this usage of the file system on, images are removed. */
  highThresholdPercent: number;
  /** Until this usage is reached. */
  lowThresholdPercent: number;
  /** Images that were seen first less than this ago are about to be used. */
  minAgeMs: number;
  /** Images that were not used for longer are removed whatever the usage; 0: none are. */
  maxAgeMs: number;
}

/** An image as the collector knows it. Times are milliseconds since the epoch. */
export interface ImageRecord {
  id: string;
  sizeBytes: bigint;
  /** The runtime never gives it up. */
  pinned: boolean;
  inUse: boolean;
  firstDetectedAt: number;
  /** 0: never seen in use. */
  lastUsedAt: number;
}

export interface ImageFilesystem {
  capacityBytes: bigint;
  availableBytes: bigint;
}

export interface ImageGCPlan {
  /** In the order in which they go. */
  imagesToRemove: ImageRecord[];
  /** Why not enough can be freed; undefined: enough can. */
  failure?: 'InvalidDiskCapacity' | 'FreeDiskSpaceFailed';
  /** How much the disk lacks; absent: nothing. */
  bytesToFree?: bigint;
}

/**
 * One run of the collector: what is too old goes, then, if the disk is full, what was not used for the longest time.
 * `startedAt`: when the agent started, as before it nobody watched what is used.
 * kubelet: images/image_gc_manager.go GarbageCollect
 */
export function computeImageGC(
  images: readonly ImageRecord[],
  { capacityBytes, availableBytes }: ImageFilesystem,
  policy: ImageGCPolicy,
  { now, startedAt }: { now: number; startedAt: number },
): ImageGCPlan {
  const candidates = inEvictionOrder(images);
  const isOld = ({ lastUsedAt }: ImageRecord): boolean =>
    policy.maxAgeMs !== 0 && now - startedAt > policy.maxAgeMs && now - lastUsedAt > policy.maxAgeMs;
  const old = candidates.filter(isOld);
  if (capacityBytes === 0n) return { imagesToRemove: old, failure: 'InvalidDiskCapacity' };

  const available = availableBytes < capacityBytes ? availableBytes : capacityBytes;
  const usagePercent = 100 - Number((available * 100n) / capacityBytes);
  if (usagePercent < policy.highThresholdPercent) return { imagesToRemove: old };
  const bytesToFree = (capacityBytes * BigInt(100 - policy.lowThresholdPercent)) / 100n - available;
  const rest = candidates.filter((image) => !isOld(image));
  const { imagesToRemove, freedBytes } = freeSpace(rest, bytesToFree, policy, now);
  return {
    imagesToRemove: [...old, ...imagesToRemove],
    bytesToFree,
    ...(freedBytes < bytesToFree && { failure: 'FreeDiskSpaceFailed' as const }),
  };
}

/** All images that no container uses, for when the disk is under pressure. kubelet: DeleteUnusedImages */
export function unusedImages(images: readonly ImageRecord[], policy: ImageGCPolicy, now: number): ImageRecord[] {
  return inEvictionOrder(images).filter((image) => isCollectable(image, policy, now));
}

/** Those that may go, the one first that was not used for the longest time. */
function inEvictionOrder(images: readonly ImageRecord[]): ImageRecord[] {
  return images
    .filter(({ inUse, pinned }) => !inUse && !pinned)
    .sort((a, b) => a.lastUsedAt - b.lastUsedAt || a.firstDetectedAt - b.firstDetectedAt);
}

function freeSpace(
  candidates: readonly ImageRecord[],
  bytesToFree: bigint,
  policy: ImageGCPolicy,
  now: number,
): { imagesToRemove: ImageRecord[]; freedBytes: bigint } {
  const imagesToRemove: ImageRecord[] = [];
  let freedBytes = 0n;
  for (const image of candidates) {
    if (!isCollectable(image, policy, now)) continue;
    imagesToRemove.push(image);
    freedBytes += image.sizeBytes;
    if (freedBytes >= bytesToFree) break;
  }
  return { imagesToRemove, freedBytes };
}

function isCollectable(
  { lastUsedAt, firstDetectedAt }: ImageRecord,
  { minAgeMs }: ImageGCPolicy,
  now: number,
): boolean {
  return lastUsedAt < now && now - firstDetectedAt >= minAgeMs;
}
