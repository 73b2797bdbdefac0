import { ImageServiceDefinition } from './generated/cri.ts';
import type { Channel } from './grpc-channel.ts';
import { defaultRequestTimeoutMs, grpcService } from './grpc-service.ts';
import type { ImageService } from './image-service.ts';

/** ImageService over a channel. PullImage has no deadline here: the puller watches its progress and aborts it. */
export function grpcImageService(channel: Channel, requestTimeoutMs = defaultRequestTimeoutMs): ImageService {
  return grpcService(channel, ImageServiceDefinition, (method) =>
    method === 'pullImage' ? Infinity : requestTimeoutMs,
  );
}
