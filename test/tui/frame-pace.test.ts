import { expect, test } from 'vitest';
import { FramePace } from '../../src/tui/frame-pace.ts';
import { FakeClock } from '../fakes/fake-clock.ts';

/** The pause before the next frame, of a key and of none. */
const pauses = (pace: FramePace) => [pace.pauseMs({ isOfKey: true }), pace.pauseMs({ isOfKey: false })];

test('the first frame comes at once, and the next after a beat', () => {
  const pace = new FramePace(new FakeClock());
  const first = pauses(pace);
  pace.recordFrame(100);
  expect([first, pauses(pace)]).toEqual([
    [0, 0],
    [50, 200],
  ]);
});

test('frames wait until a link of 10 kB/s has sent those before, and those of keys if it is 1.5 s behind', async () => {
  const clock = new FakeClock();
  const pace = new FramePace(clock);
  pace.recordFrame(10_000);
  const afterOne = pauses(pace);
  pace.recordFrame(10_000);
  const afterTwo = pauses(pace);
  await clock.advance(700);
  expect([afterOne, afterTwo, pauses(pace)]).toEqual([
    [50, 1000],
    [500, 2000],
    [0, 1300],
  ]);
});
