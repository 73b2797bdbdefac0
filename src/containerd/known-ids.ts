import { openChannel } from '../cri/grpc-channel.ts';
import { grpcRuntimeService } from '../cri/grpc-runtime-service.ts';
import { grpcService } from '../cri/grpc-service.ts';
import { criNamespace } from './cri-namespace.ts';
import { ContainersDefinition } from './generated/containerd-containers.ts';
import { TasksDefinition } from './generated/containerd-tasks.ts';

const deadlineMs = 10_000;

/**
 * Ids of all sandboxes and containers that a containerd knows in any way. Its own records come first: it makes one before
 * the shim of a sandbox is started and deletes it after that has ended, while the CRI does not yet know the sandbox.
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
