import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { answerClientErrors } from '../../src/server/client-errors.ts';
import { listenLocally } from './listen-locally.ts';
import { limitRequestTimes, neverLook } from '../../src/server/request-times.ts';

const times = { headersTimeout: 2000, requestTimeout: 5000, keepAliveTimeout: 3000 };
const late =
  'HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n408 Request Timeout';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
});

function serve(): Promise<Server> {
  const server = createServer({ ...times, ...neverLook });
  limitRequestTimes(server, times);
  answerClientErrors(server);
  return listenLocally(server);
}

/** A client of the server, and its socket there. */
async function connected(server: Server): Promise<{ client: Socket; accepted: Socket }> {
  const accepting = once(server, 'connection');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => {
    client.destroy();
  });
  const [accepted] = (await accepting) as [Socket];
  return { client, accepted };
}

/** Resolves when the server has read what was sent. */
async function send(client: Socket, accepted: Socket, bytes: string): Promise<void> {
  const wanted = accepted.bytesRead + bytes.length;
  client.write(bytes);
  while (accepted.bytesRead < wanted) await nextTurn();
}

test('connections that are late together are closed a few in a turn, so that others are answered in between', async () => {
  const count = 200;
  const server = await serve();
  let open = count;
  server.on('connection', (socket: Socket) => socket.once('close', () => (open -= 1)));
  const answers: Promise<string>[] = [];
  for (let index = 0; index < count; index++) answers.push(text((await connected(server)).client));
  vi.advanceTimersByTime(times.headersTimeout);
  let most = 0;
  while (open > 0) {
    const before = open;
    await nextTurn();
    most = Math.max(most, before - open);
  }
  expect(most).toBe(16);
  expect(new Set(await Promise.all(answers))).toEqual(new Set([late]));
});

test('a connection that comes a little later is ended with the next look, a quarter of a second later', async () => {
  const server = await serve();
  const first = await connected(server);
  vi.advanceTimersByTime(100);
  const second = await connected(server);
  vi.advanceTimersByTime(times.headersTimeout - 100);
  expect(await text(first.client)).toBe(late);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(249);
  for (let turns = 0; turns < 5; turns++) await nextTurn();
  expect(second.accepted.destroyed).toBe(false);
  vi.advanceTimersByTime(1);
  expect(await text(second.client)).toBe(late);
  expect(vi.getTimerCount()).toBe(0);
});

test('the rest of a request has a limit of its own', async () => {
  const server = await serve();
  const { client, accepted } = await connected(server);
  const asked = once(server, 'request');
  vi.advanceTimersByTime(times.headersTimeout - 1);
  await send(client, accepted, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nbegun');
  await asked;
  vi.advanceTimersByTime(times.requestTimeout - 1);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(1);
  expect(await text(client)).toBe(late);
});

test('an answer may take longer than all limits', async () => {
  const server = await serve();
  const { client } = await connected(server);
  const asked = once(server, 'request');
  client.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  const [, response] = (await asked) as [IncomingMessage, ServerResponse];
  vi.advanceTimersByTime(60_000);
  for (let turns = 0; turns < 5; turns++) await nextTurn();
  response.end('at last');
  expect(await text(client)).toContain('at last');
});

test('the next request of a connection has a limit, also if its bytes come one at a time', async () => {
  const server = await serve();
  server.on('request', (_request, response: ServerResponse) => response.end());
  const { client, accepted } = await connected(server);
  const closed = new Promise((resolve) => {
    server.on('request', (_request, response: ServerResponse) => response.once('close', resolve));
  });
  const answers = text(client);
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await closed;
  await send(client, accepted, 'GET');
  vi.advanceTimersByTime(times.keepAliveTimeout);
  await send(client, accepted, ' /');
  vi.advanceTimersByTime(times.headersTimeout);
  expect((await answers).endsWith(late)).toBe(true);
});

test('an upgraded connection has no limit, and one that has ended leaves no timer', async () => {
  const server = await serve();
  const { client, accepted } = await connected(server);
  const upgraded = once(server, 'upgrade');
  client.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n');
  await upgraded;
  expect(vi.getTimerCount()).toBe(0);
  const other = await connected(server);
  expect(vi.getTimerCount()).toBe(1);
  const ended = once(other.accepted, 'close');
  other.client.destroy();
  await ended;
  expect(vi.getTimerCount()).toBe(0);
  accepted.destroy();
});

test('a request that came in time, but that this process was too busy to read, is answered', async () => {
  const server = await serve();
  server.on('request', (_request, response: ServerResponse) => response.end('ok'));
  const hasSent = new Int32Array(new SharedArrayBuffer(4));
  server.on('connection', () => {
    // The process is busy until the request has come.
    Atomics.wait(hasSent, 0, 0);
    vi.advanceTimersByTime(times.headersTimeout);
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
