import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { answerClientErrors } from '../../src/server/client-errors.ts';
import { listenLocally } from './listen-locally.ts';

function serve(): Promise<Server> {
  const server = createServer();
  answerClientErrors(server);
  return listenLocally(server);
}

const connectTo = (server: Server): Socket => connect((server.address() as AddressInfo).port, '127.0.0.1');

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
