import { expect, test } from 'vitest';
import { PodLanes } from '../../../src/engine/pleg/pod-lanes.ts';

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

test('work on one pod waits for the work under way, and what is asked for meanwhile is one', async () => {
  const lanes = new PodLanes();
  const first = held();
  const second = held();
  const done = lanes.run('a', first.work);
  const waiting = [lanes.run('a', second.work), lanes.run('a', second.work)];
  expect([first.begun(), second.begun(), lanes.isBusy('a')]).toEqual([1, 0, true]);
  first.end();
  await done;
  second.end();
  await Promise.all(waiting);
  expect([first.begun(), second.begun(), lanes.isBusy('a')]).toEqual([1, 1, false]);
});

test('work on one pod does not wait for another', () => {
  const lanes = new PodLanes();
  const a = held();
  const b = held();
  void lanes.run('a', a.work);
  void lanes.run('b', b.work);
  expect([a.begun(), b.begun()]).toEqual([1, 1]);
});
