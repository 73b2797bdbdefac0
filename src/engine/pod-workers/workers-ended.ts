import type { EventBus } from '../event-bus.ts';

/** Resolves once the worker of each of these pods finished or is gone. They must not have ended already. */
export function workersEnded(events: Pick<EventBus, 'subscribe'>, uids: readonly string[]): Promise<void> {
  const left = new Set(uids);
  if (left.size === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const done = events.subscribe((event) => {
      if (event.type !== 'WorkerStateChanged' || (event.state !== 'finished' && event.state !== 'removed')) return;
      left.delete(event.pod.uid);
      if (left.size > 0) return;
      done();
      resolve();
    });
  });
}
