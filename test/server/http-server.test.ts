import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { queryObjects } from 'node:v8';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { Faults } from '../../src/flow/faults.ts';
import { connectionLimit, httpServer, listening, type Routes, sendText } from '../../src/server/http-server.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentLogger } from '../fakes/silent-logger.ts';

const maxConnections = 8;

let faults: Faults;
let server: Server;
let port: number;

beforeEach(() => {
  faults = new Faults({ clock: new FakeClock(0), logger: silentLogger });
});

async function serve(routes: Routes): Promise<void> {
  server = httpServer(routes, { faults, maxConnections });
  await listening(server, { host: '127.0.0.1', port: 0 });
  ({ port } = server.address() as AddressInfo);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
}

const routes: Routes = {
  'GET /ok': (_request, response) => {
    sendText(response, 200, 'ok');
  },
};

async function get(path: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } });
  return `${response.status} ${await response.text()}`;
}

/** A connection on which this was sent, and no more will be. */
async function halfSent(beginning: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, 'connect');
  socket.write(beginning);
  return socket;
}

test('closes new connections while there are as many as there may be', async () => {
  await serve(routes);
  const connected = Array.from({ length: maxConnections }, () => once(server, 'connection'));
  const clients = Array.from({ length: maxConnections }, () => halfSent('GET /ok HTTP/1.1\r\n'));
  await Promise.all([...connected, ...clients]);
  const refused = await halfSent('');
  await once(refused.resume(), 'close');
  expect(await promisify(server.getConnections.bind(server))()).toBe(maxConnections);
});

test('a head that does not come within two seconds is answered with 408', async () => {
  await serve(routes);
  const socket = await halfSent('GET /ok HTTP/1.1\r\n');
  const [answer] = (await once(socket.setEncoding('utf8'), 'data')) as [string];
  expect(answer).toContain('408 Request Timeout');
});

test.each([
  [8000, '200 OK'],
  [8 * 1024, '431 Request Header Fields Too Large'],
])('a head with a field of %i bytes is answered with %s', async (bytes, status) => {
  await serve(routes);
  const head = `GET /ok HTTP/1.1\r\nHost: x\r\nConnection: close\r\nLong: ${'x'.repeat(bytes)}\r\n\r\n`;
  expect((await text(await halfSent(head))).split('\r\n')[0]).toBe(`HTTP/1.1 ${status}`);
});

test('a client has two seconds for the head of a request, five for all of it, and two between two requests', async () => {
  await serve(routes);
  const { headersTimeout, requestTimeout, keepAliveTimeout } = server;
  expect({ headersTimeout, requestTimeout, keepAliveTimeout }).toEqual({
    headersTimeout: 2000,
    requestTimeout: 5000,
    keepAliveTimeout: 2000,
  });
});

test('a route that throws or rejects answers 500, and it is counted', async () => {
  await serve({
    'GET /throws': () => {
      throw new Error('it throws');
    },
    'GET /rejects': () => Promise.reject(new Error('it rejects')),
  });
  const internal = '500 internal error, see the log of kubelet-ts\n';
  expect([await get('/throws'), await get('/rejects')]).toEqual([internal, internal]);
  expect(faults.snapshot()).toEqual([{ part: 'server', count: 2, lastAt: 0, message: 'it rejects' }]);
});

test('an error of the listening socket is counted', async () => {
  await serve(routes);
  server.emit('error', new Error('accept EMFILE'));
  expect(faults.snapshot()).toEqual([{ part: 'server', count: 1, lastAt: 0, message: 'accept EMFILE' }]);
  expect(await get('/ok')).toBe('200 ok\n');
});

test.each([
  [64, 8],
  [20, 4],
  [1024, 128],
  [1_048_576, 2048],
])('with %i descriptors a server uses %i', (maxOpenFiles, connections) => {
  expect(connectionLimit(maxOpenFiles)).toBe(connections);
});

test('answers one of the requests of a client that reads no answers, so that answers cannot pile up', async () => {
  let answered = 0;
  await serve({
    'GET /large': (_request, response) => {
      answered += 1;
      response.end('x'.repeat(1_000_000));
    },
  });
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write('GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(20));
  await text(socket);
  expect(answered).toBe(1);
});

test('the heads of broken connections do not stay in memory', async () => {
  await serve(routes);
  const accepted: (Socket & { parser: object })[] = [];
  server.on('connection', (socket: Socket & { parser: object }) => accepted.push(socket));
  const clients = Array.from({ length: maxConnections }, () => connect(port, '127.0.0.1'));
  for (const client of clients) client.write(`GET /ok HTTP/1.1\r\nX-Filler: ${'h'.repeat(1000)}`);
  while (accepted.length < clients.length) await once(server, 'connection');
  const Parser = accepted[0]?.parser.constructor as () => void;
  const countParsers = (): number => queryObjects(Parser, { format: 'count' });
  const before = countParsers();
  const closed = accepted.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
  for (const client of clients) client.destroy();
  await Promise.all(closed);
  accepted.length = 0;
  // Node frees each one in a turn of its own.
  for (let turns = 0; turns < 10; turns += 1) await turn();
  // A few may wait for new connections.
  expect(countParsers()).toBeLessThanOrEqual(before - maxConnections + 4);
});
