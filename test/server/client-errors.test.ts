import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
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
    new Set([
      'HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n408 Request Timeout',
    ]),
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

test('a request that came in time, but that this process was too busy to read, is answered', async () => {
  const server = await serve();
  server.on('request', (_request, response: ServerResponse) => response.end('ok'));
  const hasSent = new Int32Array(new SharedArrayBuffer(4));
  server.on('connection', (socket: Socket) => {
    // The process is busy until the request has come.
    Atomics.wait(hasSent, 0, 0);
    server.emit('clientError', Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket);
  });
  const { port } = server.address() as AddressInfo;
  const client = new Worker(clientOfItsOwnThread, { eval: true, workerData: { port, hasSent } });
  const [answer] = (await once(client, 'message')) as [string];
  expect(answer.split('\r\n')[0]).toBe('HTTP/1.1 200 OK');
});

const clientOfItsOwnThread = `
  const { connect } = require('node:net');
  const { parentPort, workerData: { port, hasSent } } = require('node:worker_threads');
  const socket = connect(port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n', () => {
    Atomics.store(hasSent, 0, 1);
    Atomics.notify(hasSent, 0);
  });
  let answer = '';
  socket.on('data', (part) => (answer += part));
  socket.on('error', () => undefined).on('close', () => parentPort.postMessage(answer));
`;
