import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { RuntimeEvent, RuntimeEventStream } from './runtime-event-stream.ts';

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
