import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openSystemBus } from '../../../src/engine/host/system-bus.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A bus that takes connections and says what it is told to. */
async function oddBus(greet: (socket: Socket) => void): Promise<string> {
  const path = join(await temporaryFolder(), 'bus');
  const server = createServer((socket) => {
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined);
    greet(socket);
  }).listen(path);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return path;
}

test.each<[string, (socket: Socket) => void]>([
  ['never answers', () => undefined],
  ['greets and then is silent', (socket) => void socket.write('OK 0123456789abcdef0123456789abcdef\r\n')],
  ['refuses', (socket) => void socket.write('REJECTED\r\n')],
  ['says anything but a greeting', (socket) => void socket.write(`${'x'.repeat(100_000)}\r\n`)],
  ['closes', (socket) => socket.end()],
])('a bus that %s is not waited for without end', async (_title, greet) => {
  const path = await oddBus(greet);
  await expect(openSystemBus(path, { callTimeoutMs: 50 })).rejects.toThrow();
});
