import { expect, test } from 'vitest';
import { Lane } from '../../../src/engine/pleg/lane.ts';

function held(): { work: () => Promise<void>; begun: () => number; end: () => void } {
  let begun = 0;
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const work = (): Promise<void> => {
    begun += 1;
    return ended;
  };
  return { work, begun: () => begun, end };
}

test('work waits for the work under way, and what is asked for meanwhile is one', async () => {
  const lane = new Lane();
  const first = held();
  const second = held();
  const done = lane.run(first.work);
  const waiting = [lane.run(second.work), lane.run(second.work)];
  expect([first.begun(), second.begun(), lane.isBusy]).toEqual([1, 0, true]);
  first.end();
  await done;
  second.end();
  await Promise.all(waiting);
  expect([first.begun(), second.begun(), lane.isBusy]).toEqual([1, 1, false]);
});

test('work in one lane does not wait for another', () => {
  const a = held();
  const b = held();
  void new Lane().run(a.work);
  void new Lane().run(b.work);
  expect([a.begun(), b.begun()]).toEqual([1, 1]);
});
