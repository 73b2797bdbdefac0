import { constants } from 'node:os';
import { isNotFound, isUnimplemented } from '../cri/errors.ts';
import type { Channel } from '../cri/grpc-channel.ts';
import { grpcService } from '../cri/grpc-service.ts';
import type { CallOptions } from '../cri/service.ts';
import { criNamespace } from './cri-namespace.ts';
import { TasksDefinition } from './generated/containerd-tasks.ts';

const deadlineMs = 10_000;

/** containerd's own tasks for the CRI's containers. A failed call rejects with an `RpcError`. */
export interface ContainerTasks {
  /** True if containerd has a task for this container, even one that has exited. False for other runtimes. */
  has(containerID: string, options?: CallOptions): Promise<boolean>;
  /** Kills the task, waits until it has exited, and deletes it. A missing task is not an error. */
  end(containerID: string, options?: CallOptions): Promise<void>;
}

export function containerTasks(channel: Channel): ContainerTasks {
  const service = grpcService(channel, TasksDefinition, () => deadlineMs);
  const inNamespace = (options: CallOptions = {}): CallOptions => ({
    ...options,
    metadata: { 'containerd-namespace': criNamespace },
  });
  return {
    has: async (containerId, options) => {
      try {
        await service.get({ containerId }, inNamespace(options));
        return true;
      } catch (error) {
        if (isNotFound(error) || isUnimplemented(error)) return false;
        throw error;
      }
    },
    end: async (containerId, options) => {
      const kill = { containerId, signal: constants.signals.SIGKILL, all: true };
      await unlessDeleted(service.kill(kill, inNamespace(options)));
      await unlessDeleted(service.wait({ containerId }, inNamespace(options)));
      await unlessDeleted(service.delete({ containerId }, inNamespace(options)));
    },
  };
}

async function unlessDeleted(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
