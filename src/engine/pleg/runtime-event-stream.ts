import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { ContainerExit } from '../container/container-exits.ts';

/** A change of a container or sandbox. */
export interface RuntimeEvent {
  /** Container or sandbox id. */
  id: string;
  /** `outOfMemory`: the kernel killed one of its processes. */
  type: 'exited' | 'removed' | 'changed' | 'outOfMemory';
  /** Undefined if the stream does not report the pod. */
  podUID?: string;
  /** How it exited, if the stream reports that before the listings. */
  end?: ContainerExit;
}

/** A stream of the runtime's events. */
export interface RuntimeEventStream {
  /** For users: `CRI` or `containerd`. */
  readonly name: string;
  /**
   * Yields all later events. Returns or throws if the stream is lost. Throws an `isUnimplemented` error if the runtime
   * has no such stream.
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
