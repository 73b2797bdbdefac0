import type { EventBus } from '../view/event-bus.ts';

/** Promises by UID that resolve when the pod's worker has finished or was removed. The workers must be unfinished. */
export function workersEnded(
  events: Pick<EventBus, 'subscribe'>,
  uids: readonly string[],
): ReadonlyMap<string, Promise<void>> {
  const ends = new Map<string, () => void>();
  const ended = new Map(
    uids.map((uid) => [
      uid,
      new Promise<void>((resolve) => {
        ends.set(uid, resolve);
      }),
    ]),
  );
  if (uids.length === 0) return ended;
  const done = events.subscribe((event) => {
    if (event.type !== 'WorkerStateChanged' || (event.state !== 'finished' && event.state !== 'removed')) return;
    ends.get(event.pod.uid)?.();
    ends.delete(event.pod.uid);
    if (ends.size === 0) done();
  });
  return ended;
}
