import fc from 'fast-check';
import { expect, test } from 'vitest';
import { WallClockHistory } from '../../src/flow/wall-clock-history.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { propertyRuns } from '../support/property-runs.ts';

const dayMs = 86_400_000;

function watching(): { clock: FakeClock; history: WallClockHistory; set: (byMs: number) => void } {
  const clock = new FakeClock();
  return {
    clock,
    history: new WallClockHistory(clock),
    set: (byMs) => {
      clock.setWallClock(clock.now() + byMs);
    },
  };
}

test('time goes by as always while nobody sets the clock', async () => {
  const { clock, history } = watching();
  const longAgo = clock.now() - dayMs;
  await clock.advance(500);
  const stamp = clock.now();
  await clock.advance(2500);
  expect([history.since(stamp), history.since(longAgo), history.monotonicAt(stamp)]).toEqual([2500, dayMs + 3000, 500]);
});

test.each([
  ['back', -dayMs],
  ['forward', dayMs],
])('a clock that is set %s changes nothing about what was before', async (_where, byMs) => {
  const { clock, history, set } = watching();
  await clock.advance(1000);
  const stamp = clock.now();
  await clock.advance(1000);
  history.observe();
  set(byMs);
  await clock.advance(1000);
  const after = clock.now();
  await clock.advance(1000);
  expect([history.since(stamp), history.since(after)]).toEqual([3000, 1000]);
});

test('what happened between the change of the clock and its next check counts too', async () => {
  const { clock, history, set } = watching();
  await clock.advance(1000);
  history.observe();
  const before = clock.now() + 500;
  await clock.advance(500);
  set(-dayMs);
  await clock.advance(500);
  const after = clock.now();
  await clock.advance(1000);
  expect([history.since(before), history.since(after)]).toEqual([1500, 1000]);
});

test('a clock that is corrected little by little is not set', async () => {
  const { clock, history, set } = watching();
  for (let minute = 0; minute < 60; minute++) {
    await clock.advance(60_000);
    set(30);
    history.observe();
  }
  const stamp = clock.now();
  await clock.advance(10_000);
  expect(history.since(stamp)).toBe(10_000);
});

test('what ended in a future that nobody here has seen ended when we began to watch', async () => {
  const { clock, history } = watching();
  await clock.advance(7000);
  expect(history.since(clock.now() + dayMs)).toBe(7000);
});

test('however the clock is set, nothing is older than it can be, and what happened since it was set last is as old as it is', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ waitMs: fc.nat(5000), byMs: fc.constantFrom(0, -dayMs, -60_000, 60_000, dayMs) }), {
        minLength: 1,
        maxLength: 20,
      }),
      async (steps) => {
        const { clock, history, set } = watching();
        const stamps: number[] = [];
        for (const { waitMs, byMs } of steps) {
          stamps.push(clock.now());
          await clock.advance(waitMs);
          history.observe();
          set(byMs);
          history.observe();
        }
        const last = clock.now();
        await clock.advance(10_000);
        expect(stamps.every((stamp) => history.since(stamp) <= clock.monotonic())).toBe(true);
        expect(history.since(last)).toBe(10_000);
      },
    ),
    propertyRuns(200),
  ));
