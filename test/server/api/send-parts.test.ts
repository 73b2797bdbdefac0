import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect as connectHTTP2 } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { patienceMs, sendParts } from '../../../src/server/api/send-parts.ts';
import { HealthSLIs } from '../../../src/server/metrics/health-slis.ts';
import { HTTPCounts } from '../../../src/server/metrics/http-counts.ts';
import { systemClock } from '../../../src/clock.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { ApiRig, inParts } from './api-rig.ts';

interface Pages {
  rig: ApiRig;
  clock: FakeClock;
  /** Parts of the endless page that were taken so far. */
  taken: () => number;
  /** Resolves when the page is not wanted any more. */
  ended: Promise<void>;
}

const part = 'x'.repeat(64 * 1024);

/** A server whose /metrics is short, /metrics/cadvisor has three parts, and /metrics/resource has no end. */
async function pages(): Promise<Pages> {
  let taken = 0;
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  function* endless(): Generator<Buffer, void> {
    try {
      for (;;) {
        taken += 1;
        yield randomBytes(part.length);
      }
    } finally {
      end();
    }
  }
  function* failing(): Generator<Buffer, void> {
    yield* inParts(part, part);
    throw new Error('scripted');
  }
  const page = (path: string): Generator<Buffer, void> => {
    if (path === '/metrics/resource') return endless();
    if (path === '/metrics/slis') return failing();
    return path === '/metrics' ? inParts('short\n') : inParts('a\n', part, 'c\n');
  };
  const of = (path: string): Promise<Generator<Buffer, void>> => Promise.resolve(page(path));
  const clock = new FakeClock();
  const rig = await ApiRig.open({
    clock,
    metrics: { parts: of, binaryParts: of, health: new HealthSLIs(), http: new HTTPCounts(systemClock) },
  });
  return { rig, clock, taken: () => taken, ended };
}

/** Head and body of an answer, without Date and the headers of every page. */
async function answer(rig: ApiRig, request: string, ...headers: string[]): Promise<[string[], Buffer]> {
  const socket = await rig.connect(await rig.authority.issue('carol'));
  socket.write(`${[`${request} HTTP/1.1`, 'Host: node', 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`);
  const bytes = await buffer(socket);
  const bodyAt = bytes.indexOf('\r\n\r\n') + 4;
  const [status = '', ...rest] = bytes.toString('latin1', 0, bodyAt - 4).split('\r\n');
  const own = rest.filter((line) => !/^(date|connection|content-type|process-start-time-unix):/i.test(line));
  return [[status, ...own], bytes.subarray(bodyAt)];
}

/** The body without the marks of its chunks. */
function unchunked(bytes: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; ;) {
    const lengthEnd = bytes.indexOf('\r\n', at);
    const length = parseInt(bytes.toString('latin1', at, lengthEnd), 16);
    if (length === 0) return Buffer.concat(chunks);
    chunks.push(bytes.subarray(lengthEnd + 2, lengthEnd + 2 + length));
    at = lengthEnd + 2 + length + 2;
  }
}

const long = `a\n${part}c\n`;

test('a short page has its length, and a longer one comes in chunks', async () => {
  const { rig } = await pages();
  expect(await answer(rig, 'GET /metrics')).toEqual([['HTTP/1.1 200 OK', 'content-length: 6'], Buffer.from('short\n')]);
  const [head, body] = await answer(rig, 'GET /metrics/cadvisor');
  expect(head).toEqual(['HTTP/1.1 200 OK', 'Transfer-Encoding: chunked']);
  expect(unchunked(body).toString()).toBe(long);
  expect(rig.problems).toEqual([]);
});

test('both are zipped for a client that accepts it', async () => {
  const { rig } = await pages();
  const [shortHead, short] = await answer(rig, 'GET /metrics', 'Accept-Encoding: gzip');
  expect(shortHead).toEqual(['HTTP/1.1 200 OK', 'content-encoding: gzip', `content-length: ${short.length}`]);
  expect(gunzipSync(short).toString()).toBe('short\n');
  const [head, body] = await answer(rig, 'GET /metrics/cadvisor', 'Accept-Encoding: gzip');
  expect(head).toEqual(['HTTP/1.1 200 OK', 'content-encoding: gzip', 'Transfer-Encoding: chunked']);
  expect(gunzipSync(unchunked(body)).toString()).toBe(long);
});

test('HEAD gets the headers alone', async () => {
  const { rig } = await pages();
  expect(await answer(rig, 'HEAD /metrics')).toEqual([['HTTP/1.1 200 OK', 'content-length: 6'], Buffer.alloc(0)]);
  expect(await answer(rig, 'HEAD /metrics/cadvisor')).toEqual([['HTTP/1.1 200 OK'], Buffer.alloc(0)]);
});

test('HTTP/2 gets the same page', async () => {
  const { rig } = await pages();
  const client = await rig.authority.issue('carol');
  const session = connectHTTP2(`https://127.0.0.1:${rig.port}`, { rejectUnauthorized: false, ...client });
  onTestFinished(() => {
    session.destroy();
  });
  expect((await buffer(session.request({ ':path': '/metrics/cadvisor' }))).toString()).toBe(long);
});

test.each([[[]], [['Accept-Encoding: gzip']]])(
  'a client that stops reading gets no further parts, and is cut off after a minute (%s)',
  async (headers) => {
    const { rig, clock, taken, ended } = await pages();
    const socket = await rig.connect(await rig.authority.issue('carol'));
    socket.write(`${['GET /metrics/resource HTTP/1.1', 'Host: node', ...headers].join('\r\n')}\r\n\r\n`);
    await once(socket, 'readable');
    await clock.advance(patienceMs);
    await ended;
    // The buffers of two sockets hold some of them.
    expect(taken() * part.length).toBeLessThan(64 * 1024 * 1024);
    socket.destroy();
    await rig.untilClosed();
    expect(rig.problems).toEqual([]);
  },
);

test('a client that leaves ends its page', async () => {
  const { rig, clock, ended } = await pages();
  const socket = await rig.connect(await rig.authority.issue('carol'));
  socket.write('GET /metrics/resource HTTP/1.1\r\nHost: node\r\n\r\n');
  await once(socket, 'readable');
  socket.destroy();
  await ended;
  await rig.untilClosed();
  // Its time limit goes with it.
  while (clock.pending > 0) await nextTurn();
  expect(rig.problems).toEqual([]);
});

test('without TLS a client that leaves while it is sent a part ends its page', async () => {
  const clock = new FakeClock();
  const sent = new Promise<void>((resolve, reject) => {
    const server = createServer((_request, response) => {
      const parts = inParts(...new Array<string>(1000).fill(part));
      sendParts(response, { headers: {}, parts, isZipped: false, clock }).then(resolve, reject);
    }).listen(0, '127.0.0.1', () => {
      const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
      client.write('GET / HTTP/1.1\r\nHost: node\r\n\r\n');
      client.once('readable', () => client.resetAndDestroy());
    });
    onTestFinished(() => void server.close());
  });
  await sent;
  expect(clock.pending).toBe(0);
});

test('a page that fails is cut off, and reported', async () => {
  const { rig } = await pages();
  const [head] = await answer(rig, 'GET /metrics/slis');
  expect(head).toEqual(['HTTP/1.1 200 OK', 'Transfer-Encoding: chunked']);
  expect(rig.problems).toEqual([new Error('scripted')]);
});
