import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, test, vi } from 'vitest';
import type { KubeletEvent } from '../../../src/engine/view/events.ts';
import { EventFeed } from '../../../src/server/control/event-feed.ts';
import { FakeView } from '../../tui/fake-terminal.ts';
import { makeEntry, makeSnapshot, refOf } from '../../tui/make-snapshot.ts';

/** An answer whose client reads nothing. */
class FakeResponse extends EventEmitter {
  writableLength = 0;
  readonly writes: Buffer[] = [];

  write(bytes: Buffer): void {
    this.writes.push(bytes);
    this.writableLength += bytes.length;
  }

  destroy(): void {
    this.emit('close');
  }

  asResponse(): ServerResponse {
    return this as unknown as ServerResponse;
  }
}

const started: KubeletEvent = { at: 1, type: 'SyncStarted', pod: refOf('web'), state: 'sync' };

function openFeed(): { feed: EventFeed; view: FakeView; open: () => FakeResponse } {
  const feed = new EventFeed();
  const view = new FakeView(makeSnapshot([makeEntry('web')]));
  const open = (): FakeResponse => {
    const response = new FakeResponse();
    feed.add(view, response.asResponse());
    return response;
  };
  return { feed, view, open };
}

test('the line of an event is made once for all readers, and no reader costs nothing', () => {
  const { view, open } = openFeed();
  const readers = [open(), open(), open()];
  const toJSON = vi.fn(() => started);
  view.emit({ ...started, toJSON } as KubeletEvent);
  expect(toJSON).toHaveBeenCalledTimes(1);
  expect(readers.map(({ writes }) => writes.join(''))).toEqual(Array(3).fill(`${JSON.stringify(started)}\n`));
  for (const reader of readers) reader.emit('close');
  expect(view.listenerCount()).toBe(0);
});

test('a reader with more than 1 MiB unread is disconnected, others stay', () => {
  const { view, open } = openFeed();
  const [slow, quick] = [open(), open()];
  slow.writableLength = 1024 * 1024;
  view.emit(started);
  view.emit(started);
  expect([slow.writes.length, quick.writes.length]).toEqual([1, 2]);
});
