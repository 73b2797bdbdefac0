import { expect, test } from 'vitest';
import type { ListedEvent } from '../../../src/commands/objects/listed-event.ts';
import { PrintedEvents } from '../../../src/commands/events/watch-events.ts';

const event = (message: string, lastAt: number): ListedEvent => ({
  ...{ namespace: 'default', name: 'web', type: 'Normal', reason: 'Started' },
  ...{ message, count: 1, firstAt: 0, lastAt },
});

test('an event is printed once, and again when it happens again', () => {
  const printed = new PrintedEvents();
  expect(printed.filterNew([event('a', 5), event('b', 5)])).toEqual([event('a', 5), event('b', 5)]);
  expect(printed.filterNew([event('a', 5), event('b', 6)])).toEqual([event('b', 6)]);
});

test('an event of the watch is printed unless the past has that very time of it', () => {
  const printed = new PrintedEvents();
  printed.filterNew([event('a', 5)]);
  expect([
    printed.isNewLive(event('a', 5)),
    printed.isNewLive(event('a', 6)),
    printed.isNewLive(event('a', 6)),
  ]).toEqual([false, true, false]);
});

test('events of the watch are printed after the clock was set back', () => {
  const printed = new PrintedEvents();
  printed.filterNew([event('a', 1000)]);
  expect([printed.isNewLive(event('a', 10)), printed.isNewLive(event('a', 20))]).toEqual([true, true]);
  // The past of the next agent has both, and a further one.
  expect(printed.filterNew([event('a', 20)])).toEqual([]);
  expect(printed.filterNew([event('a', 30)])).toEqual([event('a', 30)]);
});

test('10,000 kinds of events are remembered, those that were printed last', () => {
  const printed = new PrintedEvents();
  const kinds = Array.from({ length: 10_000 }, (_, index) => event(`kind ${index}`, 5));
  printed.filterNew(kinds);
  // Kind 0 becomes the newest, so kind 1 makes room for a further one.
  printed.filterNew([event('kind 0', 6), event('another', 5)]);
  expect(printed.filterNew([event('kind 0', 6), event('kind 2', 5), event('kind 1', 5)])).toEqual([event('kind 1', 5)]);
});

test('repeats that come while the watch starts are printed once, though the past has only the last of them', () => {
  const printed = new PrintedEvents();
  // The watch was opened at 10.
  printed.filterNew([event('a', 30), event('b', 5)], 10);
  const live = [event('a', 10), event('a', 20), event('a', 30), event('b', 4), event('a', 40)];
  expect(live.map((one) => printed.isNewLive(one))).toEqual([false, false, false, true, true]);
  // The clock was set back.
  expect([printed.isNewLive(event('a', 20)), printed.isNewLive(event('a', 9))]).toEqual([true, true]);
});
