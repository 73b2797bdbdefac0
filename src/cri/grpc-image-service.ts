import { ImageServiceDefinition } from './generated/cri.ts';
import type { Channel } from './grpc-channel.ts';
import { grpcService } from './grpc-service.ts';
import type { ImageService } from './image-service.ts';

/** Two minutes. kubelet: runtimeRequestTimeout */
const requestTimeoutMs = 120_000;

/** ImageService over a channel. PullImage has no deadline here: the puller watches its progress and aborts it. */
export function grpcImageService(channel: Channel): ImageService {
  return grpcService(channel, ImageServiceDefinition, (method) =>
    method === 'pullImage' ? Infinity : requestTimeoutMs,
  );
}
