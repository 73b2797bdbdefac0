import type { KubeletEvent } from '../../engine/view/events.ts';
import { fetchAgent, followEvents } from '../../server/control/control-client.ts';
import { noAgent } from '../../server/control/no-agent.ts';
import { controlSocketPath } from '../../server/control/socket-paths.ts';
import type { CommandDeps } from '../io/deps.ts';
import { isWanted } from './events-table.ts';
import { objectHistory } from '../../engine/history/history-file.ts';
import { listedEvent, type ListedEvent } from '../objects/listed-event.ts';
import type { IsOfObject } from '../objects/object-events.ts';

interface Wanted {
  rootDir: string;
  types?: string;
  namespace?: string;
  isOfObject: IsOfObject;
}

/**
 * New events of an agent, from the moment this resolves until the agent exits or the signal is aborted. Rejects with a
 * `UserError` if no agent runs.
 */
export async function openWatch(
  { rootDir }: Pick<Wanted, 'rootDir'>,
  signal: AbortSignal,
): Promise<AsyncIterable<KubeletEvent>> {
  const socket = controlSocketPath(rootDir);
  if ((await fetchAgent(socket)) === undefined) {
    throw noAgent(rootDir, { consequence: 'so there are no new events', orElse: 'Or leave out -w.' });
  }
  const events = followEvents(socket, signal);
  // Opens the stream before the past is read, so that no event is missed.
  return startingWith(events.next(), events);
}

async function* startingWith(
  first: Promise<IteratorResult<KubeletEvent, void>>,
  rest: AsyncGenerator<KubeletEvent, void>,
): AsyncGenerator<KubeletEvent, void> {
  const { value } = await first;
  if (value !== undefined) yield value;
  yield* rest;
}

/** A watch may run for months, and each distinct message of a container is another kind. */
const maxPrintedKinds = 10_000;

/** The newest time of each kind of event that was printed. Drops the kinds that were printed longest ago. */
export class PrintedEvents {
  private readonly lastAt = new Map<string, number>();
  /** Kinds whose past events happened after the watch was opened, with the times of the repeats that it also has. */
  private readonly inBoth = new Map<string, { from: number; to: number }>();

  /**
   * Returns the past events that were not printed yet, and records them as printed. The watch was opened at
   * `watchedFrom`, in milliseconds since the epoch.
   */
  filterNew(events: readonly ListedEvent[], watchedFrom = Infinity): ListedEvent[] {
    const fresh = events.filter((event) => event.lastAt > (this.lastAt.get(kindOf(event)) ?? -1));
    for (const event of fresh) {
      this.record(kindOf(event), event.lastAt);
      if (event.lastAt >= watchedFrom) this.inBoth.set(kindOf(event), { from: watchedFrom, to: event.lastAt });
    }
    return fresh;
  }

  /**
   * True if the past did not have this event of a watch, which is then recorded as printed. Its time may be any,
   * because the clock may have been set back.
   */
  isNewLive(event: ListedEvent): boolean {
    const kind = kindOf(event);
    const both = this.inBoth.get(kind);
    if (both !== undefined && event.lastAt >= both.from && event.lastAt < both.to) return false;
    // Later ones come after the clock was set back.
    this.inBoth.delete(kind);
    if (this.lastAt.get(kind) === event.lastAt) return false;
    this.record(kind, event.lastAt);
    return true;
  }

  private record(kind: string, lastAt: number): void {
    this.lastAt.delete(kind);
    this.lastAt.set(kind, lastAt);
    const [oldest = ''] = this.lastAt.keys();
    if (this.lastAt.size > maxPrintedKinds) this.lastAt.delete(oldest);
  }
}

const kindOf = ({ namespace, name, reason, container, message }: ListedEvent): string =>
  JSON.stringify([namespace, name, reason, container, message]);

/** Prints the wanted events of a watch that were not printed yet, until the watch ends. */
export async function printNew(
  { stdout }: CommandDeps,
  watch: AsyncIterable<KubeletEvent>,
  wanted: Wanted & { printed: PrintedEvents },
  text: (event: ListedEvent) => Promise<string>,
): Promise<void> {
  for await (const event of watch) {
    const listed = toListed(event);
    if (listed === undefined || !isWanted(listed, wanted) || !wanted.isOfObject(listed)) continue;
    if (wanted.printed.isNewLive(listed)) stdout.write(await text(listed));
  }
}

/** Returns undefined for an event that Kubernetes does not have. */
function toListed(event: KubeletEvent): ListedEvent | undefined {
  if (event.type !== 'Recorded') return undefined;
  const { at, pod, object } = event;
  const owner = pod ?? (object && objectHistory(object));
  return listedEvent(owner, { ...event, count: 1, firstAt: at, lastAt: at });
}
