import type { Channel } from '../cri/grpc-channel.ts';
import { grpcService } from '../cri/grpc-service.ts';
import { ContainerDelete, type Envelope, EventsDefinition, TaskExit } from './generated/containerd-events.ts';

/** The namespace of everything that the CRI plugin of containerd makes. */
const criNamespace = 'k8s.io';
const filters = ['/tasks/exit', '/containers/delete'].map((topic) => `namespace==${criNamespace},topic=="${topic}"`);

interface ContainerEvent {
  id: string;
  type: 'exited' | 'removed';
}

/**
 * What containerd itself tells of the containers and sandboxes of the CRI, on the same socket, in every release. It comes
 * a moment before the CRI plugin knows. The CRI events of containerd 1.7 are no match for it: each goes to one listener
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
    case 'containerd.events.TaskExit': {
      const { containerId, id } = TaskExit.decode(event.value);
      return id === containerId ? { id, type: 'exited' } : undefined;
    }
    case 'containerd.events.ContainerDelete':
      return { id: ContainerDelete.decode(event.value).id, type: 'removed' };
    case undefined:
    default:
      return undefined;
  }
}
