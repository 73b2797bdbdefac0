import type { KubeletEvent } from '../../engine/view/events.ts';
import { UserError } from '../../errors.ts';
import { fetchAgent, followEvents } from '../../server/control/control-client.ts';
import { controlSocketPath } from '../../server/control/socket-paths.ts';
import type { CommandDeps } from '../io/deps.ts';
import { isWanted } from './events-table.ts';
import type { ListedEvent } from './past-events.ts';

interface Wanted {
  rootDir: string;
  types?: string;
  namespace?: string;
  pod?: { namespace: string; name: string };
}

/** New events of an agent, from the moment this resolves. Rejects with a `UserError` if no agent runs. */
export async function openWatch(
  { stdout }: CommandDeps,
  { rootDir }: Pick<Wanted, 'rootDir'>,
): Promise<AsyncIterable<KubeletEvent>> {
  const socket = controlSocketPath(rootDir);
  if ((await fetchAgent(socket)) === undefined) {
    throw new UserError('no kubelet-ts runs on this root-dir, so there will be no new events', {
      hint: 'Start it with `kubelet-ts run`, or leave out -w.',
    });
  }
  const done = new AbortController();
  // The reader of our output closed it.
  stdout.once('error', () => {
    done.abort();
  });
  const events = followEvents(socket, done.signal);
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

/** Prints the wanted events of a watch that the past does not have, until the agent ends or nobody reads. */
export async function printNew(
  { stdout }: CommandDeps,
  watch: AsyncIterable<KubeletEvent>,
  wanted: Wanted & { past: readonly ListedEvent[] },
  text: (event: ListedEvent) => Promise<string>,
): Promise<void> {
  const isKnown = (event: ListedEvent): boolean =>
    wanted.past.some((past) => isSameKind(past, event) && past.lastAt >= event.lastAt);
  for await (const event of watch) {
    const listed = toListed(event);
    if (listed === undefined || !isWanted(listed, wanted) || !isOf(listed, wanted) || isKnown(listed)) continue;
    stdout.write(await text(listed));
  }
}

const isSameKind = (a: ListedEvent, b: ListedEvent): boolean =>
  a.namespace === b.namespace && a.name === b.name && a.reason === b.reason && a.container === b.container;

const isOf = ({ namespace, name }: ListedEvent, { pod }: Wanted): boolean =>
  pod === undefined || (namespace === pod.namespace && name === pod.name);

/** Returns undefined for an event that Kubernetes does not have. */
function toListed(event: KubeletEvent): ListedEvent | undefined {
  if (event.type !== 'Recorded') return undefined;
  const { at, eventType: type, reason, message, pod, containerName } = event;
  return {
    ...(pod && { namespace: pod.namespace }),
    name: pod?.name ?? '',
    type,
    reason,
    message,
    ...(containerName !== undefined && { container: containerName }),
    count: 1,
    firstAt: at,
    lastAt: at,
  };
}
