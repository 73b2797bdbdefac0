import type { Image } from '../../cri/types.ts';
import type { ImageRecord } from './image-gc.ts';
import { imageKeys } from './image-keys.ts';

/**
 * What is known of each image after one more look. `detectedAt` counts as the time from which an image is known that was not
 * there before. kubelet: images/image_gc_manager.go detectImages
 */
export function nextImageRecords(
  records: readonly ImageRecord[],
  images: readonly Image[],
  isUsed: (keys: readonly string[]) => boolean,
  { now, detectedAt }: { now: number; detectedAt: number },
): ImageRecord[] {
  const known = new Map(records.map((record) => [record.id, record]));
  return images.map((image) => {
    const { id, size: sizeBytes, pinned } = image;
    const inUse = isUsed(imageKeys(image));
    const { firstDetectedAt = detectedAt, lastUsedAt = 0 } = known.get(id) ?? {};
    return { id, sizeBytes, pinned, inUse, firstDetectedAt, lastUsedAt: inUse ? now : lastUsedAt };
  });
}
