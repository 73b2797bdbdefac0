import type { ImageService } from '../../cri/image-service.ts';
import type { DiskLayout } from './disk-layout.ts';

interface Deps {
  imageService: Pick<ImageService, 'imageFsInfo'>;
  rootDir: string;
  /** Returns the number of the device that holds the file system at a path. */
  deviceOf: (path: string) => Promise<bigint>;
}

/**
 * Reads which disks hold images and containers. Rejects if the runtime does not report it. kubelet: stats/provider.go
 * HasDedicatedImageFs, images/image_gc_manager.go IsContainerFsSeparateFromImageFs
 */
export async function diskLayoutOfRuntime(
  { imageService, rootDir, deviceOf }: Deps,
  signal: AbortSignal,
): Promise<DiskLayout> {
  const { imageFilesystems, containerFilesystems } = await imageService.imageFsInfo({}, { signal });
  const images = imageFilesystems[0]?.fsId?.mountpoint ?? '';
  if (images === '') throw new Error('the runtime does not report where its images are');
  const containers = containerFilesystems[0]?.fsId?.mountpoint ?? '';
  const [rootDevice, imageDevice, containerDevice] = await Promise.all(
    [rootDir, images, containers === '' ? images : containers].map(deviceOf),
  );
  return { dedicatedImageFs: imageDevice !== rootDevice, splitContainerImageFs: containerDevice !== imageDevice };
}
