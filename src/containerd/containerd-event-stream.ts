import type { Channel } from '../cri/grpc-channel.ts';
import { grpcService } from '../cri/grpc-service.ts';
import { criNamespace } from './cri-namespace.ts';
import { ContainerDelete, type Envelope, EventsDefinition, TaskDelete } from './generated/containerd-events.ts';

const filters = ['/tasks/delete', '/containers/delete'].map((topic) => `namespace==${criNamespace},topic=="${topic}"`);

interface ContainerEvent {
  id: string;
  type: 'exited' | 'removed';
}

/**
 * What containerd itself tells of the containers and sandboxes of the CRI, on the same socket, in every release. It comes
 * a moment before the CRI plugin knows: of an exit when the task is deleted, which the plugin does first of all; the exit
 * itself comes some 30 ms too early. The CRI events of containerd 1.7 are no match for it: each goes to one listener
 * only, and to one that is gone as soon as to a living one.
 */
export function containerdEventStream(channel: Channel): {
  name: string;
  events: (signal: AbortSignal) => AsyncIterable<ContainerEvent>;
} {
  const service = grpcService(channel, EventsDefinition, () => Infinity);
  return {
    name: 'containerd',
    events: async function* (signal) {
      for await (const envelope of service.subscribe({ filters }, { signal })) {
        const event = containerEvent(envelope);
        if (event !== undefined) yield event;
      }
    },
  };
}

/** Undefined: nothing about a whole container; a command that was executed in one ended, say. */
export function containerEvent({ event }: Envelope): ContainerEvent | undefined {
  switch (event?.typeUrl) {
    case 'containerd.events.TaskDelete': {
      const { containerId, id } = TaskDelete.decode(event.value);
      return id === '' || id === containerId ? { id: containerId, type: 'exited' } : undefined;
    }
    case 'containerd.events.ContainerDelete':
      return { id: ContainerDelete.decode(event.value).id, type: 'removed' };
    case undefined:
    default:
      return undefined;
  }
}
