import { expect, test } from 'vitest';
import { Housekeeping } from '../../../src/engine/sync-loop/housekeeping.ts';
import type { KubeletEvent } from '../../../src/engine/view/events.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

const pod = { uid: 'u', namespace: 'default', name: 'web' };

/** Clean-ups that are taken at once, with their seconds since the start. */
function start() {
  const clock = new FakeClock();
  const listeners = new Set<(event: KubeletEvent) => void>();
  const cleanUps: number[] = [];
  let periods = 0;
  const housekeeping: Housekeeping = new Housekeeping({
    clock,
    events: {
      subscribe: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    onPeriod: () => {
      periods += 1;
    },
    onDue: () => {
      cleanUps.push(clock.monotonic() / 1000);
      housekeeping.started();
    },
  });
  housekeeping.start();
  const emit = (event: KubeletEvent): void => {
    for (const listener of listeners) listener(event);
  };
  return { clock, housekeeping, emit, listeners, cleanUps, periods: () => periods };
}

test('the first clean-up comes within 2 s, and every 10 s without an event', async () => {
  const { clock, cleanUps, periods } = start();
  await clock.advance(24_000);
  expect({ cleanUps, periods: periods() }).toEqual({ cleanUps: [2, 10, 20], periods: 3 });
});

test('a clean-up comes within 2 s after an event, but not after a sync of a pod that stays as it is', async () => {
  const { clock, emit, cleanUps } = start();
  await clock.advance(3000);
  emit({ type: 'SyncStarted', at: 0, pod, state: 'sync' });
  emit({ type: 'SyncFinished', at: 0, pod, durationMs: 1, nextSyncAt: 60_000 });
  await clock.advance(2000);
  emit({ type: 'WorkerStateChanged', at: 0, pod, state: 'terminating' });
  await clock.advance(4999);
  expect(cleanUps).toEqual([2, 6]);
});

test('work that waits for a time has the next clean-up come within 2 s', async () => {
  const { clock, housekeeping, cleanUps } = start();
  await clock.advance(2000);
  housekeeping.scheduleSoon();
  await clock.advance(4000);
  expect(cleanUps).toEqual([2, 4]);
});

test('a request comes at once, in place of the clean-up that was due', async () => {
  const { clock, housekeeping, cleanUps } = start();
  await clock.advance(2000);
  housekeeping.scheduleSoon();
  await clock.advance(1000);
  housekeeping.request();
  await clock.advance(8000);
  expect(cleanUps).toEqual([2, 3, 10]);
});

test('nothing is left after a stop', async () => {
  const { clock, housekeeping, listeners, cleanUps } = start();
  housekeeping.stop();
  // A clean-up was under way.
  housekeeping.started();
  await clock.advance(20_000);
  expect({ cleanUps, listeners: listeners.size, timers: clock.pending }).toEqual({
    cleanUps: [],
    listeners: 0,
    timers: 0,
  });
});
