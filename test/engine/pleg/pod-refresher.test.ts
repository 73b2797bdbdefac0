import { plainRedactor } from '../../fakes/plain-redactor.ts';
import { beforeEach, expect, test } from 'vitest';
import type { Clock } from '../../../src/clock.ts';
import { EventBus } from '../../../src/engine/view/event-bus.ts';
import { RuntimePods } from '../../../src/engine/kuberuntime/runtime-pods.ts';
import { GenericPleg } from '../../../src/engine/pleg/generic-pleg.ts';
import { PodCache } from '../../../src/engine/pleg/pod-cache.ts';
import { PodRefresher } from '../../../src/engine/pleg/pod-refresher.ts';
import { startRuntimePod } from '../../builders/runtime-pod.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { tickingClock } from '../../fakes/ticking-clock.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';

const { signal } = new AbortController();
const pod = { uid: 'a', name: 'a', namespace: 'default' };

let fakeClock: FakeClock;
let clock: Clock;
let runtime: FakeRuntime;
let events: EventBus;
let news: PodRefresher;
let removal: Promise<unknown> | undefined;
/** When the last sync ended. */
let syncEnd: number;

beforeEach(async () => {
  fakeClock = new FakeClock();
  clock = tickingClock(fakeClock);
  runtime = new FakeRuntime({ clock: fakeClock });
  runtime.addImage('app:1');
  const cache = new PodCache();
  const runtimePods = new RuntimePods({ runtime, readTerminationMessage: ({ message }) => Promise.resolve(message) });
  const pleg = new GenericPleg({ runtime: runtimePods, cache, clock, logger: silentLogger, onEvents: () => undefined });
  events = new EventBus({ clock, redactor: plainRedactor, faults: silentFaults() });
  removal = undefined;
  const garbage = { removalOf: () => removal, finishFreshRemoval: () => Promise.resolve(false) };
  news = new PodRefresher({ pleg, cache, garbage, events, clock, stopped: signal });
  await startRuntimePod(runtime, 'a');
  await fakeClock.advance(1);
});

/** A sync of 10 ms. */
async function sync(
  state: 'sync' | 'terminating',
  { act, error }: { act?: () => void; error?: string } = {},
): Promise<void> {
  await news.getNewerThan('a', -Infinity, signal);
  events.emit({ type: 'SyncStarted', pod, state });
  await fakeClock.advance(10);
  act?.();
  events.emit({
    ...{ type: 'SyncFinished', pod, durationMs: 10, nextSyncAt: 0 },
    ...(error === undefined ? {} : { error }),
  });
  syncEnd = clock.monotonic();
}

/** Looks at the pod while this happens. */
async function looks(during: () => Promise<unknown>): Promise<number> {
  const before = runtime.requestsOf('listContainers').length;
  await during();
  return runtime.requestsOf('listContainers').length - before;
}

const next = (): Promise<unknown> => news.getNewerThan('a', syncEnd, signal);

test('a status that was read during a sync without changes is new enough for the next sync', async () => {
  await sync('sync', { act: () => void news.relist('a') });
  await fakeClock.advance(1);
  expect(await looks(next)).toBe(0);
});

test('what was read before it began is not', async () => {
  await news.relist('a');
  await fakeClock.advance(1);
  await sync('sync');
  await fakeClock.advance(1);
  expect(await looks(next)).toBe(1);
});

test.each([
  ['changed the pod', undefined],
  ['failed', 'made to fail'],
])('after a sync that %s the pod is checked, once', async (_how, error) => {
  const act = (): void => {
    void news.relist('a');
    if (error === undefined) news.changed('a');
  };
  await sync('sync', { act, ...(error === undefined ? {} : { error }) });
  expect(await looks(() => fakeClock.advance(1))).toBe(1);
  expect(await looks(next)).toBe(0);
});

test('a pod that terminates is read after its last sync', async () => {
  await sync('terminating', { act: () => void news.relist('a') });
  await fakeClock.advance(1);
  expect(await looks(next)).toBe(1);
});

test('remains of the last run of a pod do not count as a status of the next', async () => {
  await sync('sync', { act: () => void news.relist('a') });
  removal = clock.sleep(5).then(() => {
    removal = undefined;
  });
  const status = next();
  expect(await looks(() => fakeClock.advance(5))).toBe(1);
  await status;
});
