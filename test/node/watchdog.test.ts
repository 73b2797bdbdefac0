import { expect, onTestFinished, test } from 'vitest';
import { notifyWatchdog } from '../../src/node/watchdog.ts';
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

test('the watchdog is put off at once and twice in its time', async () => {
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
