import { computeImageGC, type ImageRecord, unusedImages } from '../../../src/engine/images/image-gc.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  mode: 'collect' | 'deleteUnused';
  policy: { highThresholdPercent: number; lowThresholdPercent: number; minAgeSeconds: number; maxAgeSeconds: number };
  uptimeSeconds: number;
  filesystem: { capacityBytes: number; availableBytes: number };
  images: {
    id: string;
    sizeBytes: number;
    pinned: boolean;
    firstSeenSecondsAgo: number | null;
    lastUsedSecondsAgo: number | null;
  }[];
  inUse: string[];
}

const now = Date.parse('2024-06-01T10:00:00Z');

export const imageGC = tableAdapter<In>('image-gc', ({ mode, policy, uptimeSeconds, filesystem, images, inUse }) => {
  const records = images.map(({ id, sizeBytes, pinned, firstSeenSecondsAgo, lastUsedSecondsAgo }): ImageRecord => ({
    id,
    sizeBytes: BigInt(sizeBytes),
    pinned,
    inUse: inUse.includes(id),
    firstDetectedAtMonotonic: now - (firstSeenSecondsAgo ?? 0) * 1000,
    lastUsedAtMonotonic: lastUsedSecondsAgo === null ? 0 : now - lastUsedSecondsAgo * 1000,
  }));
  const ages = { ...policy, minAgeMs: policy.minAgeSeconds * 1000, maxAgeMs: policy.maxAgeSeconds * 1000 };
  const ids = (removed: readonly ImageRecord[]): string[] => removed.map(({ id }) => id);
  if (mode === 'deleteUnused') return { ok: true, removed: ids(unusedImages(records, ages, now)) };
  const disk = { capacityBytes: BigInt(filesystem.capacityBytes), availableBytes: BigInt(filesystem.availableBytes) };
  const plan = computeImageGC(records, disk, ages, {
    nowMonotonic: now,
    startedAtMonotonic: now - uptimeSeconds * 1000,
  });
  return { ok: plan.failure === undefined, removed: ids(plan.imagesToRemove) };
});
