import { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
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
