import { expect, test } from 'vitest';
import { WaitingClients } from '../../src/server/waiting-clients.ts';
import { usedHeapBytes } from '../used-heap-bytes.ts';

test('the first to close has sent a part of a request, else it has waited longest', () => {
  const clients = new WaitingClients<{ bytesRead: number }>();
  const [silent, begun, later] = [{ bytesRead: 0 }, { bytesRead: 9 }, { bytesRead: 0 }];
  expect(clients.first()).toBeUndefined();
  for (const each of [silent, begun, later]) clients.add(each);
  expect(clients.first()).toBe(begun);
  clients.delete(begun);
  expect(clients.first()).toBe(silent);
  clients.delete(silent);
  expect(clients.first()).toBe(later);
});

test('a silent client outlives all that send parts of requests, however many come after it', () => {
  const clients = new WaitingClients<{ bytesRead: number }>();
  const late = { bytesRead: 0 };
  clients.add(late);
  // The last ones of each turn have not been read yet.
  let unread: { bytesRead: number }[] = [];
  for (let turn = 0; turn < 100; turn++) {
    for (const client of unread) client.bytesRead = 9;
    unread = Array.from({ length: 16 }, () => ({ bytesRead: 0 }));
    for (const client of unread) {
      clients.add(client);
      if (turn === 0) continue;
      const closed = clients.first();
      expect(closed).not.toBe(late);
      if (closed !== undefined) clients.delete(closed);
    }
  }
});

test('few of the silent clients are looked at in a call, and all of them in turn', () => {
  let looks = 0;
  const clients = new WaitingClients<{ bytesRead: number }>();
  const watched = Array.from({ length: 256 }, () => ({
    get bytesRead() {
      looks += 1;
      return 0;
    },
  }));
  for (const client of watched) clients.add(client);
  for (let calls = 0; calls < 8; calls++) expect(clients.first()).toBe(watched[0]);
  expect(looks).toBe(256);
  const begun = { bytesRead: 9 };
  clients.add(begun);
  const asked = Array.from({ length: 9 }, () => clients.first());
  expect(asked.at(-1)).toBe(begun);
  expect(looks).toBeLessThanOrEqual(512);
});

test('clients that left are not kept in memory', () => {
  const clients = new WaitingClients<{ bytesRead: number }>();
  clients.add({ bytesRead: 0 });
  clients.first();
  const before = usedHeapBytes();
  for (let count = 0; count < 100_000; count++) {
    const client = { bytesRead: 0 };
    clients.add(client);
    clients.delete(client);
  }
  expect(usedHeapBytes() - before).toBeLessThan(1_000_000);
  expect(clients.first()).toEqual({ bytesRead: 0 });
});
