import type { KubeletEvent } from '../view/events.ts';

/**
 * A change that waiting pods may need. `room`: a pod stopped, a UID of another program is free, or devices changed.
 * `order`: a pod became Ready or completed, or the declared pods changed. `node`: the node accepts pods again, or its
 * runtime returned, perhaps as another release. `devices`: plugins have allocated, or devices changed.
 */
export type AdmissionChange = 'room' | 'order' | 'node' | 'devices';

/** A pod in one of these states takes no room. */
const endStates: ReadonlySet<string> = new Set(['terminated', 'finished', 'removed']);

/** Returns the change that an event reports. Returns undefined if it reports none. */
export function admissionChange(event: KubeletEvent): AdmissionChange | undefined {
  if (event.type === 'WorkerStateChanged') return endStates.has(event.state) ? 'room' : undefined;
  if (event.type === 'RuntimeReady') return 'node';
  if (event.type === 'PodStatusChanged') return event.ready || event.phase === 'Succeeded' ? 'order' : undefined;
  return event.type === 'PodAdded' || event.type === 'PodUpdated' || event.type === 'PodRemoved' ? 'order' : undefined;
}
