import { expect, test } from 'vitest';
import { WorkQueue } from '../../../src/engine/pod-workers/work-queue.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

function makeQueue() {
  const clock = new FakeClock(1000);
  const due: string[] = [];
  const queue = new WorkQueue({
    clock,
    onDue: (uid) => {
      due.push(`${uid} at ${clock.now()}`);
    },
  });
  return { clock, queue, due };
}

test('tells each pod when it is due, once', async () => {
  const { clock, queue, due } = makeQueue();
  queue.enqueue('b', 200);
  queue.enqueue('a', 100);
  expect([queue.dueAt('a'), queue.dueAt('b'), queue.dueAt('c')]).toEqual([1100, 1200, undefined]);
  await clock.advance(1000);
  expect(due).toEqual(['a at 1100', 'b at 1200']);
  expect(queue.dueAt('a')).toBeUndefined();
});

test('keeps only the newest entry of a pod, be it sooner or later', async () => {
  const { clock, queue, due } = makeQueue();
  queue.enqueue('a', 100);
  queue.enqueue('a', 300);
  queue.enqueue('b', 300);
  queue.enqueue('b', 100);
  await clock.advance(1000);
  expect(due).toEqual(['b at 1100', 'a at 1300']);
});

test('is not delayed when the clock is set', async () => {
  const { clock, queue, due } = makeQueue();
  queue.enqueue('a', 100);
  clock.setWallClock(0);
  await clock.advance(100);
  expect(due).toEqual(['a at 100']);
});

test('tells nothing of a pod that was removed, nor after it was stopped', async () => {
  const { clock, queue, due } = makeQueue();
  queue.enqueue('a', 100);
  queue.enqueue('b', 100);
  queue.remove('a');
  await clock.advance(50);
  queue.stop();
  await clock.advance(1000);
  expect(due).toEqual([]);
  expect(clock.pending).toBe(0);
});

test('may be filled again by its reader', async () => {
  const clock = new FakeClock(0);
  const due: number[] = [];
  const queue: WorkQueue = new WorkQueue({
    clock,
    onDue: (uid) => {
      due.push(clock.now());
      queue.enqueue(uid, 100);
    },
  });
  queue.enqueue('a', 0);
  await clock.advance(250);
  expect(due).toEqual([0, 100, 200]);
});

test('is due after the time that is left, also if the clock is set meanwhile', async () => {
  const { clock, queue, due } = makeQueue();
  queue.enqueue('a', 60_000);
  clock.setWallClock(clock.now() - 3_600_000);
  expect(queue.dueAt('a')).toBe(clock.now() + 60_000);
  await clock.advance(60_000);
  expect(due).toHaveLength(1);
});
