import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { beforeEach, expect, test } from 'vitest';
import type { KubeletEvent } from '../../../src/engine/view/events.ts';
import { type ChangeLine, ChangeFeed } from '../../../src/server/control/change-feed.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeView } from '../../tui/fake-terminal.ts';
import { makeEntry, makeSnapshot, refOf } from '../../tui/make-snapshot.ts';

/** An answer whose client reads only when the test says so. */
class FakeResponse extends EventEmitter {
  writableNeedDrain = false;
  readonly lines: ChangeLine[] = [];

  write(bytes: Buffer): boolean {
    this.lines.push(JSON.parse(bytes.toString()) as ChangeLine);
    return true;
  }

  asResponse(): ServerResponse {
    return this as unknown as ServerResponse;
  }
}

let clock: FakeClock;
let feed: ChangeFeed;
let view: FakeView;

beforeEach(() => {
  clock = new FakeClock();
  feed = new ChangeFeed({ clock });
  view = new FakeView(makeSnapshot([makeEntry('web')]));
});

const started = (at: number): KubeletEvent => ({ at, type: 'SyncStarted', pod: refOf('web'), state: 'sync' });
const range = (count: number): KubeletEvent[] => Array.from({ length: count }, (_, at) => started(at));

function open(): FakeResponse {
  const response = new FakeResponse();
  feed.add(view, response.asResponse());
  return response;
}

test('ten readers cost one read of the engine, and no reader costs none', async () => {
  const readers = Array.from({ length: 10 }, open);
  expect(readers.map(({ lines }) => lines)).toEqual(
    Array.from({ length: 10 }, () => [{ whole: { pid: process.pid, ...view.current } }]),
  );
  const looks = view.snapshotCount;
  view.emit(started(1), started(2));
  await clock.advance(100);
  expect(view.snapshotCount - looks).toBe(1);
  expect(readers.map(({ lines }) => lines.at(-1))).toEqual(
    Array.from({ length: 10 }, () => ({ events: [started(1), started(2)] })),
  );
  for (const reader of readers) reader.emit('close');
  expect({ timers: clock.pending, listeners: view.listenerCount() }).toEqual({ timers: 0, listeners: 0 });
});

test('a line comes at most each 100 ms, and one each 2 s without events', async () => {
  const { lines } = open();
  for (const event of range(20)) {
    view.emit(event);
    await clock.advance(10);
  }
  expect(lines.length - 1).toBeLessThanOrEqual(3);
  await clock.advance(100);
  const before = lines.length;
  await clock.advance(4000);
  expect(lines.slice(before)).toEqual([{}, {}]);
});

test('a reader that does not read gets nothing more, and all changes at once when it reads again', async () => {
  const slow = open();
  slow.writableNeedDrain = true;
  for (const event of range(5)) {
    view.emit(event);
    await clock.advance(1000);
  }
  expect(slow.lines.length).toBe(1);
  slow.writableNeedDrain = false;
  slow.emit('drain');
  await clock.advance(100);
  expect(slow.lines.slice(1)).toEqual([{ events: range(5) }]);
});

test('a reader that missed too many events gets the whole snapshot, another one only the change', async () => {
  const slow = open();
  const quick = open();
  slow.writableNeedDrain = true;
  for (let count = 0; count < 30; count += 1) {
    view.emit(...range(100));
    await clock.advance(100);
  }
  slow.writableNeedDrain = false;
  slow.emit('drain');
  await clock.advance(100);
  expect(slow.lines.slice(1)).toEqual([{ whole: { pid: process.pid, ...view.current } }]);
  const events = quick.lines.slice(1).flatMap((line) => ('events' in line ? (line.events ?? []) : []));
  expect(events.length).toBe(3000);
});

test('a beat in which the process was stopped for an hour does not silence the readers', async () => {
  const reader = open();
  const hour = 3_600_000;
  const monotonic = clock.monotonic.bind(clock);
  let stoppedMs = 0;
  clock.monotonic = () => monotonic() + stoppedMs;
  const look = view.snapshot.bind(view);
  view.snapshot = () => {
    stoppedMs = hour;
    return look();
  };
  view.emit(started(1));
  await clock.advance(100);
  view.emit(started(2));
  await clock.advance(15_000);
  expect(reader.lines.flatMap((line) => ('events' in line ? line.events : []))).toEqual([started(1), started(2)]);
});
