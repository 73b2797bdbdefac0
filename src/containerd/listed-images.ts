import { openChannel } from '../cri/grpc-channel.ts';
import { grpcImageService } from '../cri/grpc-image-service.ts';

/** Resolves to true if the CRI lists an image of this name. */
export type IsListed = (name: string, signal: AbortSignal) => Promise<boolean>;

/** Calls `use` with a function that checks for images in the CRI at this endpoint. All checks share a connection. */
export async function withListedImages<T>(endpoint: string, use: (isListed: IsListed) => Promise<T>): Promise<T> {
  const channel = openChannel(endpoint);
  const service = grpcImageService(channel);
  try {
    return await use(async (name, signal) => {
      const { image } = await service.imageStatus({ image: { image: name } }, { signal });
      return image !== undefined;
    });
  } finally {
    channel.close();
  }
}

/** Returns the names of all images that the CRI at this endpoint lists. */
export async function listImageNames(endpoint: string, signal: AbortSignal): Promise<string[]> {
  const channel = openChannel(endpoint);
  try {
    const { images } = await grpcImageService(channel).listImages({}, { signal });
    return images.flatMap(({ repoTags, repoDigests }) => (repoTags.length > 0 ? repoTags : repoDigests));
  } finally {
    channel.close();
  }
}
