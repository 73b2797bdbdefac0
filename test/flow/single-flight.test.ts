import { expect, test } from 'vitest';
import { singleFlight } from '../../src/flow/single-flight.ts';
import { FakeClock } from '../fakes/fake-clock.ts';

/** Work of 10 ms that returns the number of its run. */
function slowWork(pauses: { pausePerRun: number; maxPauseMs: number }): {
  call: () => Promise<number>;
  clock: FakeClock;
} {
  const clock = new FakeClock();
  let runs = 0;
  const work = async (): Promise<number> => {
    const run = (runs += 1);
    await clock.sleep(10);
    return run;
  };
  return { call: singleFlight(work, { clock, ...pauses }), clock };
}

test('calls that come before the work begins share its result', async () => {
  const { call, clock } = slowWork({ pausePerRun: 5, maxPauseMs: 1000 });
  const first = [call(), call()];
  await clock.advance(10);
  expect(await Promise.all(first)).toEqual([1, 1]);
});

test('calls in the pause after a run share the next one, which begins at its end', async () => {
  const { call, clock } = slowWork({ pausePerRun: 5, maxPauseMs: 1000 });
  const results: [number, number][] = [];
  const note = (result: number): void => void results.push([result, clock.monotonic()]);
  void call().then(note);
  await clock.advance(11);
  void call().then(note);
  await clock.advance(20);
  void call().then(note);
  await clock.advance(100);
  expect(results).toEqual([
    [1, 10],
    [2, 70],
    [2, 70],
  ]);
});

test('the pause after a long run, such as one in which the process was stopped, is bounded', async () => {
  const { call, clock } = slowWork({ pausePerRun: 1e6, maxPauseMs: 30 });
  void call();
  await clock.advance(11);
  const ends: number[] = [];
  const second = call().finally(() => ends.push(clock.monotonic()));
  await clock.advance(100);
  expect([await second, ends]).toEqual([2, [50]]);
});

test('a call during a run gets the next one, because the state may have changed since', async () => {
  const { call, clock } = slowWork({ pausePerRun: 0, maxPauseMs: 1000 });
  const first = call();
  await clock.advance(5);
  const ends: number[] = [];
  const second = call().finally(() => ends.push(clock.monotonic()));
  await clock.advance(20);
  expect([await first, await second, ends]).toEqual([1, 2, [20]]);
});

test('all calls reject as the work does, and the next one runs again', async () => {
  const clock = new FakeClock();
  let runs = 0;
  const call = singleFlight(
    () => {
      runs += 1;
      return runs === 1 ? Promise.reject(new Error('no answer')) : Promise.resolve(runs);
    },
    { clock, pausePerRun: 5, maxPauseMs: 1000 },
  );
  const failed = { status: 'rejected', reason: new Error('no answer') };
  expect(await Promise.allSettled([call(), call()])).toEqual([failed, failed]);
  expect(await call()).toBe(2);
});
