import type { Channel } from '../cri/grpc-channel.ts';
import { grpcService } from '../cri/grpc-service.ts';
import { criNamespace } from './cri-namespace.ts';
import {
  ContainerDelete,
  type Envelope,
  EventsDefinition,
  TaskDelete,
  TaskOOM,
} from './generated/containerd-events.ts';

const filters = ['/tasks/oom', '/tasks/delete', '/containers/delete'].map(
  (topic) => `namespace==${criNamespace},topic=="${topic}"`,
);

interface ContainerEvent {
  id: string;
  type: 'exited' | 'removed' | 'outOfMemory';
  /** The exit as the CRI plugin will report it. `finishedAt` is in milliseconds since the epoch. */
  end?: { exitCode: number; finishedAt: number; reason: string };
}

/**
 * Streams containerd's own events of CRI containers and sandboxes, which every release sends on the same socket.
 * Reports an exit when the task is deleted: that is the plugin's first step, when all output is written, a moment
 * before the CRI plugin reports the exit. The task's exit event comes some 30 ms too early. The CRI events of
 * containerd 1.7 are unsuitable, because each goes to only one listener, even a dead one.
 */
export function containerdEventStream(channel: Channel): {
  name: string;
  events: (signal: AbortSignal) => AsyncIterable<ContainerEvent>;
} {
  const service = grpcService(channel, EventsDefinition, () => Infinity);
  // Shared by all streams, so that a reconnect loses nothing.
  const read = containerEventReader();
  return {
    name: 'containerd',
    events: async function* (signal) {
      for await (const envelope of service.subscribe({ filters }, { signal })) {
        const event = read(envelope);
        if (event !== undefined) yield event;
      }
    },
  };
}

/**
 * Reads events one by one. Returns undefined for events that do not concern a whole container, such as an exec that
 * exited. containerd: its CRI plugin, events.go handleContainerExit, container_status.go toCRIContainerStatus
 */
export function containerEventReader(): (envelope: Envelope) => ContainerEvent | undefined {
  const outOfMemory = new Set<string>();
  return ({ event }) => {
    switch (event?.typeUrl) {
      case 'containerd.events.TaskOOM': {
        const id = TaskOOM.decode(event.value).containerId;
        outOfMemory.add(id);
        return { id, type: 'outOfMemory' };
      }
      case 'containerd.events.TaskDelete': {
        const { containerId, id, exitStatus, exitedAt } = TaskDelete.decode(event.value);
        if (id !== '' && id !== containerId) return undefined;
        const isOutOfMemory = outOfMemory.delete(containerId);
        if (exitedAt === undefined) return { id: containerId, type: 'exited' };
        const reason = isOutOfMemory ? 'OOMKilled' : exitStatus === 0 ? 'Completed' : 'Error';
        return {
          id: containerId,
          type: 'exited',
          end: { exitCode: exitStatus, finishedAt: exitedAt.getTime(), reason },
        };
      }
      case 'containerd.events.ContainerDelete':
        return { id: ContainerDelete.decode(event.value).id, type: 'removed' };
      case undefined:
      default:
        return undefined;
    }
  };
}
