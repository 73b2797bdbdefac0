import type { Clock } from '../clock.ts';
import { openChannel } from '../cri/grpc-channel.ts';
import { grpcImageService } from '../cri/grpc-image-service.ts';
import type { ImageService } from '../cri/image-service.ts';
import type { ImageStore } from './ctr.ts';
import { importImageArchive } from './import-image-archive.ts';
import type { ImportProgress } from './import-progress.ts';

interface ListedImport {
  clock: Pick<Clock, 'sleep'>;
  signal: AbortSignal;
  onProgress?: (progress: ImportProgress) => void;
}

const pollMs = 5;

/**
 * Imports one archive and protects its images from garbage collection. Resolves to their names when the CRI lists them,
 * because until then a pod would try to pull them: the CRI plugin learns of an image by an event.
 */
export async function importListed(store: ImageStore, file: string, options: ListedImport): Promise<string[]> {
  const { clock, signal } = options;
  const names = await importImageArchive(store, file, { ...options, pinned: true });
  await withImageService(`unix://${store.address}`, async (images) => {
    for (const name of names) while (!(await isListed(images, name, signal))) await clock.sleep(pollMs, { signal });
  });
  return names;
}

/** True if the CRI at this endpoint has an image of this name. */
export const isPresent = (endpoint: string, name: string, signal: AbortSignal): Promise<boolean> =>
  withImageService(endpoint, (images) => isListed(images, name, signal));

async function withImageService<T>(endpoint: string, use: (images: ImageService) => Promise<T>): Promise<T> {
  const channel = openChannel(endpoint);
  try {
    return await use(grpcImageService(channel));
  } finally {
    channel.close();
  }
}

async function isListed(images: ImageService, image: string, signal: AbortSignal): Promise<boolean> {
  const { image: found } = await images.imageStatus({ image: { image } }, { signal });
  return found !== undefined;
}
