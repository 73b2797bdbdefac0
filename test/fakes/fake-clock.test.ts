import { expect, test } from 'vitest';
import { FakeClock } from './fake-clock.ts';

test('fires what is due in the order of its time, each at its own moment', async () => {
  const clock = new FakeClock(1000);
  const fired: string[] = [];
  const note = (name: string) => () => fired.push(`${name} at ${clock.monotonic()}, ${clock.now()}`);
  clock.after(30, note('late'));
  clock.after(10, note('early'));
  clock.after(10, note('early too'));
  clock.after(31, note('too late'));
  await clock.advance(30);
  expect(fired).toEqual(['early at 10, 1010', 'early too at 10, 1010', 'late at 30, 1030']);
  expect(clock.pending).toBe(1);
});

test('lets a chain of sleeps run its course within one advance', async () => {
  const clock = new FakeClock();
  const woken: number[] = [];
  const napper = async (): Promise<void> => {
    for (let nap = 0; nap < 3; nap += 1) {
      await clock.sleep(100);
      await Promise.resolve();
      woken.push(clock.monotonic());
    }
  };
  const done = napper();
  await clock.advance(1000);
  await done;
  expect(woken).toEqual([100, 200, 300]);
  expect(clock.monotonic()).toBe(1000);
});

test('never fires what was called off', async () => {
  const clock = new FakeClock();
  const fired: string[] = [];
  const cancel = clock.after(10, () => fired.push('cancelled'));
  cancel();
  await clock.advance(10);
  expect(fired).toEqual([]);
});

test('rejects a sleep with the reason of its signal, before or while it sleeps', async () => {
  const clock = new FakeClock();
  const reason = new Error('shutting down');
  const controller = new AbortController();
  const sleep = clock.sleep(10, { signal: controller.signal });
  controller.abort(reason);
  await expect(sleep).rejects.toBe(reason);
  await expect(clock.sleep(10, { signal: controller.signal })).rejects.toBe(reason);
  expect(clock.pending).toBe(0);
});

test('moves wall time without monotonic time when the clock is set', async () => {
  const clock = new FakeClock(5000);
  await clock.advance(10);
  clock.setWallClock(1000);
  await clock.advance(10);
  expect([clock.now(), clock.monotonic()]).toEqual([1010, 20]);
});
