import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { answerClientErrors } from '../../src/server/client-errors.ts';

async function serve(): Promise<Server> {
  const server = createServer();
  answerClientErrors(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

const connectTo = (server: Server): Socket => connect((server.address() as AddressInfo).port, '127.0.0.1');

test('connections that are late together are closed a few in a turn, so that others are answered in between', async () => {
  const count = 200;
  const server = await serve();
  const accepted: Socket[] = [];
  let open = count;
  server.on('connection', (socket: Socket) => {
    accepted.push(socket);
    socket.once('close', () => (open -= 1));
  });
  const clients = Array.from({ length: count }, () => connectTo(server));
  const answers = clients.map(text);
  while (accepted.length < count) await nextTurn();
  for (const socket of accepted) {
    server.emit('clientError', Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket);
  }
  let most = 0;
  while (open > 0) {
    const before = open;
    await nextTurn();
    most = Math.max(most, before - open);
  }
  expect(most).toBe(16);
  expect(new Set(await Promise.all(answers))).toEqual(
    new Set(['HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n']),
  );
});

test('a broken request is answered, also after a good one', async () => {
  const server = await serve();
  server.on('request', (_request, response: ServerResponse) => response.end('ok'));
  const client = connectTo(server);
  const answer = text(client);
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
  if (!response.closed) await once(response, 'close');
  client.write('none\r\n\r\n');
  const statuses = [...(await answer).matchAll(/HTTP\/1\.1 (.*)\r/g)].map(([, status]) => status);
  expect(statuses).toEqual(['200 OK', '400 Bad Request']);
});

test('a broken request behind one that is being answered ends the connection without another answer', async () => {
  const server = await serve();
  server.on('request', (_request, response: ServerResponse) => response.write('begun'));
  const client = connectTo(server);
  const answer = text(client);
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(client, 'data');
  client.write('none\r\n\r\n');
  expect((await answer).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
});

test('a head that is too long is answered with 431', async () => {
  const client = connectTo(await serve());
  const answer = text(client);
  client.write(`GET / HTTP/1.1\r\nLong: ${'x'.repeat(20_000)}\r\n\r\n`);
  expect((await answer).split('\r\n')[0]).toBe('HTTP/1.1 431 Request Header Fields Too Large');
});
