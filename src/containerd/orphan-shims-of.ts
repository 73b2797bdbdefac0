import type { Clock } from '../clock.ts';
import { openChannel } from '../cri/grpc-channel.ts';
import { grpcRuntimeService } from '../cri/grpc-runtime-service.ts';
import { grpcService } from '../cri/grpc-service.ts';
import type { Logger } from '../logger.ts';
import { containerdEventStream } from './containerd-event-stream.ts';
import { type ContainerdShim, findShims } from './containerd-shims.ts';
import { criNamespace } from './cri-namespace.ts';
import { ContainersDefinition } from './generated/containerd-containers.ts';
import { TasksDefinition } from './generated/containerd-tasks.ts';
import { OrphanShims } from './orphan-shims.ts';

/** The orphaned shims of the containerd behind an endpoint (`unix:///path`). Other runtimes have none. */
export function orphanShimsOf(
  endpoint: string,
  options: {
    /** Undefined if the containerd is not ours. */
    readonly end: ((shim: ContainerdShim) => Promise<void>) | undefined;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly signal: AbortSignal;
  },
): OrphanShims {
  const { signal, ...deps } = options;
  const socket = endpoint.replace(/^unix:\/\//, '');
  return new OrphanShims(
    {
      ...deps,
      findShims: () => findShims(socket),
      listKnownIDs: (listSignal) => listKnownIDs(endpoint, listSignal),
      events: (streamSignal) => containerEvents(endpoint, streamSignal),
    },
    signal,
  );
}

async function* containerEvents(endpoint: string, signal: AbortSignal): AsyncGenerator<{ type: string }, void> {
  const channel = openChannel(endpoint);
  try {
    yield* containerdEventStream(channel).events(signal);
  } finally {
    channel.close();
  }
}

const deadlineMs = 10_000;

/**
 * Returns the ids of all sandboxes and containers of a containerd, from its own records and from the CRI. Reads its own
 * records first: they exist from before a sandbox's shim starts until after it has exited, even while the CRI does not
 * list the sandbox.
 */
export async function listKnownIDs(endpoint: string, signal: AbortSignal): Promise<Set<string>> {
  const channel = openChannel(endpoint);
  const options = { signal, deadlineMs, metadata: { 'containerd-namespace': criNamespace } };
  try {
    const runtime = grpcRuntimeService(channel);
    const [records, running, sandboxes, containers] = await Promise.all([
      grpcService(channel, ContainersDefinition, () => deadlineMs).list({}, options),
      grpcService(channel, TasksDefinition, () => deadlineMs).list({}, options),
      runtime.listPodSandbox({}, options),
      runtime.listContainers({}, options),
    ]);
    return new Set([
      ...[...records.containers, ...running.tasks, ...sandboxes.items].map(({ id }) => id),
      ...containers.containers.flatMap(({ id, podSandboxId }) => [id, podSandboxId]),
    ]);
  } finally {
    channel.close();
  }
}
