import type { KubeletEvent } from '../view/events.ts';

/**
 * What pods that may not start yet wait for. `room`: a pod ended. `order`: a pod became Ready or completed, or other pods are
 * declared now. `node`: it takes pods again.
 */
export type AdmissionNews = 'room' | 'order' | 'node';

/** In these a pod takes no room any more. */
const endStates: ReadonlySet<string> = new Set(['terminated', 'finished', 'removed']);

/** What an event may have changed for them; undefined: nothing. */
export function admissionNews(event: KubeletEvent): AdmissionNews | undefined {
  if (event.type === 'WorkerStateChanged') return endStates.has(event.state) ? 'room' : undefined;
  if (event.type === 'PodStatusChanged') return event.ready || event.phase === 'Succeeded' ? 'order' : undefined;
  return event.type === 'PodAdded' || event.type === 'PodUpdated' || event.type === 'PodRemoved' ? 'order' : undefined;
}
