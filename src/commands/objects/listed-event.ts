import type { PodName } from '../../api/values/pod-names.ts';
import type { EventEntry, HistoryEntry } from '../../engine/history/history-entry.ts';
import { isObjectHistory } from '../../engine/history/history-file.ts';

/** An event with its object. One entry counts all repeats. Times are in milliseconds since the epoch. */
export interface ListedEvent {
  /** Absent for an event of the node. */
  namespace?: string;
  /** Name of the pod or node, or such as `service/web`. */
  name: string;
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
  container?: string;
  count: number;
  firstAt: number;
  lastAt: number;
}

/** Returns the events in the history of a pod, or of an object under its name from `objectHistory`. */
export function listedEvents(owner: PodName, history: readonly HistoryEntry[]): ListedEvent[] {
  return history.flatMap((entry) => (entry.kind === 'event' ? [listedEvent(owner, entry)] : []));
}

/** Returns one event. `owner` is undefined for an event of the node. */
export function listedEvent(
  owner: PodName | undefined,
  entry: Omit<EventEntry, 'kind' | 'podUID' | 'cause'>,
): ListedEvent {
  const { eventType: type, reason, message, containerName, count, firstAt, lastAt, job } = entry;
  return {
    ...(owner && { namespace: owner.namespace }),
    name: job !== undefined ? `job/${job}` : owner === undefined ? '' : shownName(owner),
    ...{ type, reason, message },
    ...(containerName !== undefined && { container: containerName }),
    ...{ count, firstAt, lastAt },
  };
}

/** Returns the name of a pod, or such as `service/web` for that of an object. */
export function shownName(owner: PodName): string {
  const [kind = '', ...name] = owner.name.split('.');
  return isObjectHistory(owner) ? `${kind.toLowerCase()}/${name.join('.')}` : owner.name;
}
