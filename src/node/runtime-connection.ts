import { resolve } from 'node:path';
import { systemClock } from '../clock.ts';
import { containerTasks } from '../containerd/container-tasks.ts';
import { containerdEventStream } from '../containerd/containerd-event-stream.ts';
import { endingLostTasks } from '../containerd/ending-lost-tasks.ts';
import { managedPaths } from '../containerd/managed-paths.ts';
import { probeEndpoint } from '../containerd/probe-endpoint.ts';
import { readStoreDamage } from '../containerd/store-damage.ts';
import { isDeadlineExceeded } from '../cri/errors.ts';
import { type Channel, openChannel } from '../cri/grpc-channel.ts';
import { grpcImageService } from '../cri/grpc-image-service.ts';
import { grpcRuntimeService } from '../cri/grpc-runtime-service.ts';
import type { ImageService } from '../cri/image-service.ts';
import type { RuntimeService } from '../cri/runtime-service.ts';
import { type ObserveCall, observedService } from '../cri/observed-service.ts';
import { criLabels } from '../engine/container/labels.ts';
import { PodDirs } from '../engine/host/pod-dirs.ts';
import type { ForeignPods } from '../engine/kuberuntime/owned-runtime.ts';
import { criEventStream, type RuntimeEventStream } from '../engine/pleg/runtime-event-stream.ts';
import { UserError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { needsRoot } from '../process/needs-root.ts';
import { readAgentProcess } from '../server/control/agent-process.ts';
import { rootSocketPath } from '../server/control/socket-paths.ts';
import { findRuntimeOfAgent } from './find-runtime.ts';
import { ownedRuntime, type RootKeeper } from './owned-runtime.ts';

/** The flags that select a runtime. Without an endpoint, or with an empty one, it is detected. */
export interface RuntimeLocation {
  rootDir: string;
  containerRuntimeEndpoint?: string | undefined;
}

export type Connect = (location: RuntimeLocation) => Promise<RuntimeConnection>;

/** An open connection to a container runtime, with the pods of one root-dir. */
export interface RuntimeConnection {
  runtime: RuntimeService;
  images: ImageService;
  /** Containers of all owners. */
  listAllContainers: RuntimeService['listContainers'];
  close(): void;
}

/** An open connection of the owner of a root-dir's pods. */
export interface OwnRuntimeConnection extends RuntimeConnection {
  /** Pods of others in the runtime. */
  foreignPods: ForeignPods;
  /** Event streams of the runtime, best first. */
  eventStreams: readonly RuntimeEventStream[];
}

/** Options that differ from a connection to a single socket. */
interface RuntimeSettings {
  /** Socket of the image service; empty for the runtime's. */
  imageServiceEndpoint?: string;
  /** Deadline of a call in milliseconds. */
  runtimeRequestTimeout?: number;
  /** Receives every call except those that go to containerd outside the CRI. */
  onCall?: ObserveCall;
}

interface Keeper extends RootKeeper {
  /** Set by callers that start and stop pods, so that their lost tasks are killed. */
  logger?: Logger;
}

/** Connects to the runtime of a root-dir. Shows only the pods of that root-dir. */
export async function openOwnRuntime(
  endpoint: string,
  keeper: Keeper,
  settings: RuntimeSettings = {},
): Promise<OwnRuntimeConnection> {
  const channels = openChannels(endpoint, settings);
  try {
    const plain = observed(grpcRuntimeService(channels.runtime, settings.runtimeRequestTimeout), settings);
    const shared = keeper.logger === undefined ? plain : endingLost(plain, channels.runtime, keeper, keeper.logger);
    const owned = await ownedRuntime(keeper, shared);
    return {
      runtime: owned.runtime,
      foreignPods: owned,
      listAllContainers: owned.listAllContainers,
      images: observed(grpcImageService(channels.images, settings.runtimeRequestTimeout), settings),
      eventStreams: [containerdEventStream(channels.runtime), criEventStream(shared)],
      close: channels.close,
    };
  } catch (error) {
    channels.close();
    throw error;
  }
}

function observed<S extends object>(service: S, { onCall }: RuntimeSettings): S {
  return onCall === undefined ? service : observedService(service, onCall, () => systemClock.monotonic());
}

/** Opens one channel if both services share a socket. Nothing is sent before the first call. */
function openChannels(
  endpoint: string,
  { imageServiceEndpoint = '' }: RuntimeSettings,
): { runtime: Channel; images: Channel; close: () => void } {
  const runtime = openChannel(endpoint);
  const isOneSocket = imageServiceEndpoint === '' || imageServiceEndpoint === endpoint;
  const images = isOneSocket ? runtime : openChannel(imageServiceEndpoint);
  return {
    runtime,
    images,
    close: () => {
      runtime.close();
      if (images !== runtime) images.close();
    },
  };
}

function endingLost(runtime: RuntimeService, channel: Channel, { rootDir }: Keeper, logger: Logger): RuntimeService {
  const podDirs = new PodDirs({ rootDir });
  return endingLostTasks(runtime, {
    tasks: containerTasks(channel),
    isOurs: async (labels) => (await podDirs.podUIDs()).includes(labels[criLabels.podUID] ?? ''),
    logger: logger.child({ component: 'containerd' }),
  });
}

/** A managed containerd answers in milliseconds; on a small busy machine it may take seconds. */
const answerTimeoutMs = 10_000;

/**
 * Connects to the runtime of the agent, or to that of a `run` with these flags. Does not start one. Rejects with a
 * `UserError` if it does not answer in time.
 */
export async function connectToRuntime(
  location: RuntimeLocation,
  timeoutMs = answerTimeoutMs,
): Promise<RuntimeConnection> {
  const rootDir = resolve(location.rootDir);
  const { endpoint, managed } = await findRuntimeOfAgent({ rootDir, flag: location.containerRuntimeEndpoint });
  // Checked here only for the managed runtime: any other one answered when it was chosen.
  if (managed) await requireManagedContainerd(rootDir, timeoutMs);
  return openOwnRuntime(endpoint, { rootDir, makesPods: false, signal: new AbortController().signal });
}

async function requireManagedContainerd(rootDir: string, timeoutMs: number): Promise<void> {
  const { endpoint, logFile } = managedPaths(rootDir);
  const result = await probeEndpoint(endpoint, timeoutMs);
  if (result.kind === 'answers') return;
  const cause = 'error' in result ? result.error : undefined;
  if (result.kind === 'denied') throw needsRoot(endpoint, cause);
  if (isDeadlineExceeded(cause)) {
    throw new UserError(`the container runtime at ${endpoint} did not answer within ${timeoutMs / 1000} s`, {
      hint: `It is stopped or overloaded. Read its log: ${logFile}`,
      cause,
    });
  }
  const damage = await readStoreDamage(rootDir);
  if (damage !== undefined) throw damage;
  if (result.kind === 'no-cri') {
    throw new UserError(`containerd runs without its CRI plugin at ${endpoint}`, {
      hint: `Its log: ${logFile}`,
      cause,
    });
  }
  const agent = await readAgentProcess(rootSocketPath(rootDir));
  throw new UserError(`no container runtime answers at ${endpoint}`, {
    hint: agent === undefined ? 'kubelet-ts run starts it.' : `kubelet-ts is starting it. Read its log: ${logFile}`,
    cause,
  });
}
