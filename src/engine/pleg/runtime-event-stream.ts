import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { ContainerEndNews } from '../container/container-ends.ts';

/** Something happened to a container or sandbox. */
export interface RuntimeEvent {
  /** Of the container or sandbox. */
  id: string;
  type: 'exited' | 'removed' | 'changed';
  /** Absent: the stream does not say whose it is. */
  podUID?: string;
  /** How it exited, of a stream that knows that before the listings do. */
  end?: ContainerEndNews;
}

/** A way to be told what happens in the runtime. */
export interface RuntimeEventStream {
  /** For people: `CRI` or `containerd`. */
  readonly name: string;
  /**
   * What happens from now on. Ends or throws when the stream is lost; throws an error that `isUnimplemented` knows when
   * the runtime has no such stream.
   */
  events(signal: AbortSignal): AsyncIterable<RuntimeEvent>;
}

/** Container events of the CRI. kubelet: pleg/evented.go processCRIEvent */
export function criEventStream(runtime: RuntimeService): RuntimeEventStream {
  return { name: 'CRI', events: (signal) => events(runtime, signal) };
}

async function* events(runtime: RuntimeService, signal: AbortSignal): AsyncGenerator<RuntimeEvent, void> {
  const stream = runtime.getContainerEvents({}, { signal });
  for await (const { containerId, containerEventType, podSandboxStatus } of stream) {
    const podUID = podSandboxStatus?.metadata?.uid;
    yield { id: containerId, type: typeOf(containerEventType), ...(podUID === undefined ? {} : { podUID }) };
  }
}

function typeOf(type: string): RuntimeEvent['type'] {
  if (type === 'CONTAINER_STOPPED_EVENT') return 'exited';
  return type === 'CONTAINER_DELETED_EVENT' ? 'removed' : 'changed';
}
