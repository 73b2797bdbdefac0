import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { Faults } from '../../../src/flow/faults.ts';
import { httpServer, listening } from '../../../src/server/http-server.ts';
import { UnreadAnswers } from '../../../src/server/control/unread-answers.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

const answerBytes = 32 * 1024 * 1024;
const graceMs = 2000;

let clock: FakeClock;

beforeEach(() => {
  clock = new FakeClock();
});

/** Answers each request with far more than a socket holds. */
async function serve(maxBytes: number): Promise<Server> {
  const unread = new UnreadAnswers({ maxBytes, clock });
  const faults = new Faults({ clock: new FakeClock(0), logger: silentLogger });
  const server = httpServer(
    {
      'GET /': (_request, response) => {
        response.end('x'.repeat(answerBytes));
        unread.note(response);
      },
      'GET /half': (_request, response) => {
        response.end('x'.repeat(answerBytes / 2));
        unread.note(response);
      },
    },
    { faults },
  );
  await listening(server, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

/** Asks, and reads nothing of the answer; resolves when the server dropped it. */
async function askAndNotRead(server: Server, path = '/'): Promise<{ dropped: Promise<unknown> }> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  onTestFinished(() => {
    socket.destroy();
  });
  const [request] = await Promise.all([
    once(server, 'request'),
    once(socket, 'connect').then(() => {
      ask(socket, path);
    }),
  ]);
  const [, response] = request as [unknown, NodeJS.EventEmitter];
  return { dropped: once(response, 'close') };
}

const connectionsOf = (server: Server): Promise<number> => promisify(server.getConnections.bind(server))();

function ask(socket: NodeJS.WritableStream, path: string): void {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
}

test('of clients that do not read, the first go when all together hold more memory than they may', async () => {
  const server = await serve(1.5 * answerBytes);
  const first = await askAndNotRead(server);
  await clock.advance(graceMs);
  await askAndNotRead(server);
  await first.dropped;
  expect(await connectionsOf(server)).toBe(1);
});

test('one that fell behind only now has time to read, even if all together hold more than they may', async () => {
  const server = await serve(1.5 * answerBytes);
  const first = await askAndNotRead(server);
  await clock.advance(graceMs - 1);
  await askAndNotRead(server);
  expect(await connectionsOf(server)).toBe(2);
  await clock.advance(graceMs);
  await first.dropped;
  expect(await connectionsOf(server)).toBe(1);
});

test('the first go at once when all together hold twice of what they may', async () => {
  const server = await serve(1.1 * answerBytes);
  const first = await askAndNotRead(server);
  await askAndNotRead(server);
  await askAndNotRead(server);
  await first.dropped;
  expect(await connectionsOf(server)).toBe(2);
});

test('of clients that do not read, one that is a little behind stays for as long as others hold more', async () => {
  const server = await serve(2.2 * answerBytes);
  await askAndNotRead(server, '/half');
  const first = await askAndNotRead(server);
  await clock.advance(graceMs);
  await askAndNotRead(server);
  await first.dropped;
  expect(await connectionsOf(server)).toBe(2);
});

test('a single answer may be larger, and is given to its end', async () => {
  const server = await serve(1);
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  expect((await text(socket)).split('\r\n\r\n')[1]?.length).toBe(answerBytes);
});
