import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { limitConnections } from '../../../src/server/api/connection-limit.ts';

async function serve(maxConnections: number): Promise<{ server: Server; open: () => Promise<Socket> }> {
  const server = createServer().listen(0, '127.0.0.1');
  limitConnections(server, maxConnections, () => undefined);
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  /** Resolves when the server has the connection. */
  const open = async (): Promise<Socket> => {
    const accepted = once(server, 'connection');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    await accepted;
    return socket;
  };
  return { server, open };
}

const request = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

test('beyond the limit the connection is closed that has waited longest for a request', async () => {
  const { server, open } = await serve(3);
  const busy = await open();
  busy.write(request);
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
  const [longest, later] = [await open(), await open()];
  const closed = once(longest, 'close');
  const newest = await open();
  await closed;
  server.on('request', (_request, answer: ServerResponse) => answer.end('ok'));
  response.end('at last');
  for (const socket of [later, newest]) socket.write(request);
  const bodies = (await Promise.all([busy, later, newest].map(text))).map((answer) => answer.split('\r\n\r\n')[1]);
  expect(bodies).toEqual(['at last', 'ok', 'ok']);
});

test('a connection with an open request is kept, though another request of it has ended', async () => {
  const { server, open } = await serve(2);
  const answers: ServerResponse[] = [];
  server.on('request', (_request, answer: ServerResponse) => answers.push(answer));
  const busy = await open();
  busy.write(`GET / HTTP/1.1\r\nHost: x\r\n\r\n${request}`);
  await once(server, 'request');
  const [first, second] = answers;
  const ended = once(first ?? server, 'close');
  first?.end('first');
  await ended;
  const idle = await open();
  const bodies = text(busy);
  const closed = Promise.race([once(idle, 'close').then(() => 'idle'), bodies.then(() => 'busy')]);
  await open();
  expect(await closed).toBe('idle');
  second?.end('second');
  expect(await bodies).toMatch(/first.*second$/s);
});
