import { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { guardedSocket, ReadingPace } from '../../src/cri/guarded-socket.ts';
import { FakeClock } from '../fakes/fake-clock.ts';

function frame(type: number, length: number): Buffer {
  const bytes = Buffer.alloc(9 + length, type);
  bytes.writeUIntBE(length, 0, 3);
  bytes.writeUInt8(0, 4);
  bytes.writeUInt32BE(0, 5);
  return bytes;
}

const settings = frame(4, 0);
const extension = frame(200, 16_000);

/** A socket whose server is the test. */
function newSocket(): Duplex {
  return new Duplex({ read: () => undefined });
}

test('reads at most once from a server whose frames nobody consumes yet', async () => {
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

/** Guarded sockets whose servers have sent this many reads of 64 KiB each. */
function floodedSockets(count: number, reads: number) {
  const clock = new FakeClock();
  const pace = new ReadingPace(clock);
  const flood = frame(0, 64 * 1024 - 9);
  const sockets = Array.from({ length: count }, newSocket);
  const guarded = sockets.map((socket) => guardedSocket(socket, pace).resume());
  for (let read = 0; read < reads; read += 1) for (const socket of sockets) socket.push(flood);
  return {
    clock,
    /** Reads that each one has left after so many milliseconds. */
    leftAfter: async (ms: number): Promise<number[]> => {
      await clock.advance(ms);
      return sockets.map((socket) => socket.readableLength / flood.length);
    },
    end: () => {
      for (const each of guarded) each.destroy();
    },
  };
}

test('servers that send without end share 16 MB a second', async () => {
  const { clock, leftAfter, end } = floodedSockets(2, 3);
  const left: number[][] = [];
  for (const ms of [0, 3, 1, 4, 4, 4]) left.push(await leftAfter(ms));
  expect(left).toEqual([
    [2, 2],
    [2, 2],
    [1, 2],
    [1, 1],
    [0, 1],
    [0, 0],
  ]);
  end();
  expect(clock.pending).toBe(0);
});

test('each of hundreds of such servers is read once a second', async () => {
  const { leftAfter, end } = floodedSockets(300, 2);
  expect(new Set(await leftAfter(0))).toEqual(new Set([1]));
  expect(new Set(await leftAfter(1000))).toEqual(new Set([0]));
  end();
});

test('short answers are read at once', async () => {
  const socket = newSocket();
  const guarded = guardedSocket(socket, new ReadingPace(new FakeClock()));
  const sent = Array.from({ length: 20 }, () => frame(6, 8));
  for (const bytes of sent) socket.push(bytes);
  socket.push(null);
  expect(await buffer(guarded)).toEqual(Buffer.concat(sent));
});
