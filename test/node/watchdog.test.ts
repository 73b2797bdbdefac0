import { expect, onTestFinished, test, vi } from 'vitest';
import { extendStart, notifyWatchdog } from '../../src/node/watchdog.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentLogger } from '../fakes/silent-logger.ts';

function start(watchdogMs: number | undefined) {
  const clock = new FakeClock();
  const world = { stuck: undefined as string | undefined, fails: false, sentAt: [] as number[] };
  const stopping = new AbortController();
  onTestFinished(() => {
    stopping.abort();
  });
  const alive = (): Promise<boolean> => {
    world.sentAt.push(clock.monotonic());
    return Promise.resolve(!world.fails);
  };
  const service = { watchdogMs, alive };
  const deps = { service, stuckBecause: () => world.stuck, clock, logger: silentLogger };
  const ended = notifyWatchdog(deps, stopping.signal).catch(() => undefined);
  return { clock, world, ended };
}

test('the watchdog is notified at once and twice per period', async () => {
  const { clock, world } = start(60_000);
  await clock.advance(90_000);
  expect(world.sentAt).toEqual([0, 30_000, 60_000, 90_000]);
});

test('a stuck sync loop does not put it off, until it makes progress again', async () => {
  const { clock, world } = start(60_000);
  world.stuck = 'sync Loop took longer than expected';
  await clock.advance(65_000);
  world.stuck = undefined;
  await clock.advance(30_000);
  expect(world.sentAt).toEqual([0, 90_000]);
});

test('a notification that failed is sent once more after a second', async () => {
  const { clock, world } = start(60_000);
  world.fails = true;
  await clock.advance(40_000);
  expect(world.sentAt).toEqual([0, 30_000, 31_000]);
});

test('without a watchdog nothing is sent', async () => {
  const { ended, world } = start(undefined);
  await ended;
  expect(world.sentAt).toEqual([]);
});

test('a start is extended each minute until the unit has started', async () => {
  const clock = new FakeClock();
  const service = { isStarting: true, extendStart: vi.fn<(ms: number) => Promise<void>>(() => Promise.resolve()) };
  const ended = extendStart(service, clock, new AbortController().signal);
  await clock.advance(59_000);
  expect(service.extendStart).not.toHaveBeenCalled();
  await clock.advance(61_000);
  expect(service.extendStart.mock.calls).toEqual([[300_000], [300_000]]);
  service.isStarting = false;
  await clock.advance(60_000);
  await ended;
});
