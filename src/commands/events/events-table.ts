import { humanDuration } from '../../api/values/duration.ts';
import { formatTable } from '../../text/format-table.ts';
import type { ListedEvent } from '../objects/listed-event.ts';

/** True for an event of the wanted type and namespace. */
export function isWanted(
  event: Pick<ListedEvent, 'type' | 'namespace'>,
  { types, namespace }: { types?: string; namespace?: string },
): boolean {
  return (types === undefined || event.type === types) && (namespace === undefined || event.namespace === namespace);
}

/** Events as `kubectl get events` prints them. `now` is in milliseconds since the epoch. */
export async function eventsTable(
  events: readonly ListedEvent[],
  { headers, now }: { headers: boolean; now: number },
): Promise<string> {
  if (events.length === 0) return headers ? 'No events.\n' : '';
  const rows = events.map(({ namespace, name, type, reason, message, container, count, firstAt, lastAt }) => [
    humanDuration(now - lastAt),
    type,
    reason,
    namespace === undefined ? nodeText(name) : `${namespace}/${name}`,
    `${container === undefined ? '' : `${container}: `}${firstLine(message)}${repeats(count, now - firstAt)}`,
  ]);
  return formatTable(headers ? [['LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE'], ...rows] : rows);
}

const repeats = (count: number, sinceMs: number): string =>
  count === 1 ? '' : ` (x${count} over ${humanDuration(sinceMs)})`;

const firstLine = (text: string): string => text.trim().split('\n', 1)[0] ?? '';

const nodeText = (name: string): string => (name === '' ? 'node' : `node/${name}`);
