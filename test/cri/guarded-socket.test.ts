import { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { guardedSocket } from '../../src/cri/guarded-socket.ts';

function frame(type: number, length: number): Buffer {
  const bytes = Buffer.alloc(9 + length, type);
  bytes.writeUIntBE(length, 0, 3);
  bytes.writeUInt8(0, 4);
  bytes.writeUInt32BE(0, 5);
  return bytes;
}

const settings = frame(4, 0);
const extension = frame(200, 16_000);

afterEach(() => {
  vi.useRealTimers();
});

/** A socket whose server is the test. */
function newSocket(): Duplex {
  return new Duplex({ read: () => undefined });
}

test('of a server whose frames nobody reads yet, no more than one read is taken', async () => {
  const socket = newSocket();
  const guarded = guardedSocket(socket);
  for (let reads = 0; reads < 3; reads += 1) {
    socket.push(Buffer.concat([settings, extension, settings]));
    await turn();
  }
  expect([socket.isPaused(), guarded.readableLength]).toEqual([true, 2 * settings.length]);
});

test('a reader that begins late gets everything in order', async () => {
  const socket = newSocket();
  const guarded = guardedSocket(socket);
  const sent = Array.from({ length: 50 }, (_, index) => frame(6, index));
  for (const bytes of sent) {
    socket.push(bytes);
    await turn();
  }
  socket.push(null);
  expect(await buffer(guarded)).toEqual(Buffer.concat(sent));
});

test('a server that sends without end is read once in 10 ms, though its frames are dropped', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const socket = newSocket();
  const guarded = guardedSocket(socket).resume();
  const flood = Buffer.concat([settings, extension, extension]);
  const left: number[] = [];
  for (let reads = 0; reads < 3; reads += 1) socket.push(flood);
  for (const ms of [0, 9, 1, 10]) {
    vi.advanceTimersByTime(ms);
    await turn();
    left.push(socket.readableLength / flood.length);
  }
  expect(left).toEqual([2, 2, 1, 0]);
  guarded.destroy();
  expect(vi.getTimerCount()).toBe(0);
});

test('short answers are read at once', async () => {
  const socket = newSocket();
  const guarded = guardedSocket(socket);
  const sent = Array.from({ length: 20 }, () => frame(6, 8));
  for (const bytes of sent) socket.push(bytes);
  socket.push(null);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  expect(await buffer(guarded)).toEqual(Buffer.concat(sent));
});
