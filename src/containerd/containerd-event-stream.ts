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
  type: 'exited' | 'removed';
  /** As the CRI plugin is going to tell of it. `finishedAt` is in milliseconds since the epoch. */
  end?: { exitCode: number; finishedAt: number; reason: string };
}

/**
 * What containerd itself tells of the containers and sandboxes of the CRI, on the same socket, in every release. It comes
 * a moment before the CRI plugin knows: of an exit when the task is deleted, which the plugin does first of all, with all
 * its output written; the exit itself comes some 30 ms too early. The CRI events of containerd 1.7 are no match for it:
 * each goes to one listener only, and to one that is gone as soon as to a living one.
 */
export function containerdEventStream(channel: Channel): {
  name: string;
  events: (signal: AbortSignal) => AsyncIterable<ContainerEvent>;
} {
  const service = grpcService(channel, EventsDefinition, () => Infinity);
  // A stream that is lost and opened again does not forget.
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
 * Reads one event after the other. Undefined: nothing about a whole container; a command that was executed in one ended,
 * say. containerd: its CRI plugin, events.go handleContainerExit, container_status.go toCRIContainerStatus
 */
export function containerEventReader(): (envelope: Envelope) => ContainerEvent | undefined {
  const outOfMemory = new Set<string>();
  return ({ event }) => {
    switch (event?.typeUrl) {
      case 'containerd.events.TaskOOM':
        outOfMemory.add(TaskOOM.decode(event.value).containerId);
        return undefined;
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
