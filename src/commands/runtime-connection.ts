import { connectOnce } from '../containerd/connect-once.ts';
import { containerTasks } from '../containerd/container-tasks.ts';
import { containerdEventStream } from '../containerd/containerd-event-stream.ts';
import { endingLostTasks } from '../containerd/ending-lost-tasks.ts';
import { type Channel, openChannel } from '../cri/grpc-channel.ts';
import { grpcImageService } from '../cri/grpc-image-service.ts';
import { grpcRuntimeService } from '../cri/grpc-runtime-service.ts';
import type { ImageService } from '../cri/image-service.ts';
import type { RuntimeService } from '../cri/runtime-service.ts';
import { criLabels } from '../engine/kuberuntime/labels.ts';
import { criEventStream } from '../engine/pleg/cri-event-stream.ts';
import type { RuntimeEventStream } from '../engine/pleg/runtime-event-stream.ts';
import { PodDirs } from '../engine/pod-dirs.ts';
import { hasCode, UserError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { findRuntimeEndpoint } from './find-runtime.ts';

/** An open connection to a container runtime. */
export interface RuntimeConnection {
  runtime: RuntimeService;
  images: ImageService;
  close(): void;
}

/** An open connection of the agent. */
export interface NodeRuntimeConnection extends RuntimeConnection {
  /** Ways to be told what happens in the runtime, best first. */
  eventStreams: readonly RuntimeEventStream[];
}

/** How a connection differs from one to a single socket. */
interface RuntimeSettings {
  /** Where the images are; empty: behind the same socket. */
  imageServiceEndpoint?: string;
  /** Milliseconds that a call may take. */
  runtimeRequestTimeout?: number;
  /** Given by who starts and stops the pods of a root-dir: what is running of theirs and lost is ended. */
  keeper?: { rootDir: string; logger: Logger };
}

/** Connects to CRI sockets; both services may be behind one. Nothing is sent before the first call. */
export function openRuntime(endpoint: string, settings: RuntimeSettings = {}): NodeRuntimeConnection {
  const { imageServiceEndpoint = '', runtimeRequestTimeout, keeper } = settings;
  const channel = openChannel(endpoint);
  const isOneSocket = imageServiceEndpoint === '' || imageServiceEndpoint === endpoint;
  const imageChannel = isOneSocket ? channel : openChannel(imageServiceEndpoint);
  const plainRuntime = grpcRuntimeService(channel, runtimeRequestTimeout);
  const runtime = keeper === undefined ? plainRuntime : kept(plainRuntime, channel, keeper);
  return {
    runtime,
    images: grpcImageService(imageChannel, runtimeRequestTimeout),
    eventStreams: [containerdEventStream(channel), criEventStream(runtime)],
    close: () => {
      channel.close();
      if (imageChannel !== channel) imageChannel.close();
    },
  };
}

/** A pod is ours by its folder. */
function kept(
  runtime: RuntimeService,
  channel: Channel,
  { rootDir, logger }: NonNullable<RuntimeSettings['keeper']>,
): RuntimeService {
  const podDirs = new PodDirs({ rootDir });
  return endingLostTasks(runtime, {
    tasks: containerTasks(channel),
    isOurs: async (labels) => (await podDirs.podUIDs()).includes(labels[criLabels.podUID] ?? ''),
    logger: logger.child({ component: 'containerd' }),
  });
}

/** Connects to the runtime that `run` uses or would use with these flags; starts none. */
export async function connectToRuntime(options: {
  runtimeEndpoint?: string;
  rootDir: string;
}): Promise<RuntimeConnection> {
  const { endpoint, managed } = await findRuntimeEndpoint({ rootDir: options.rootDir, flag: options.runtimeEndpoint });
  // Any other runtime answered when it was chosen.
  if (managed) await requireManagedContainerd(endpoint);
  return openRuntime(endpoint);
}

async function requireManagedContainerd(endpoint: string): Promise<void> {
  try {
    await connectOnce(endpoint.replace(/^unix:\/\//, ''));
  } catch (cause) {
    if (hasCode(cause, 'EACCES', 'EPERM')) {
      throw new UserError(`no permission to use the container runtime at ${endpoint}`, { hint: 'Run as root.', cause });
    }
    throw new UserError(`no container runtime answers at ${endpoint}`, { hint: 'kubelet-ts run starts it.', cause });
  }
}
