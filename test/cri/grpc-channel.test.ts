import { once } from 'node:events';
import { connect as connectHTTP2 } from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { queryObjects } from 'node:v8';
import { Channel } from '@grpc/grpc-js';
import { expect, onTestFinished, test } from 'vitest';
import { grpcHealthCheck } from '../../src/cri/grpc-health-check.ts';
import { openReadyChannel } from '../../src/cri/grpc-channel.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** An empty frame of HTTP/2 with the settings of a server. */
const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

/** A server that writes this on each connection, answers no call, and leaves its connections open. */
async function startServer(listen: (server: Server) => void, written: Buffer) {
  const server = createServer({ allowHalfOpen: true });
  const connected = once(server, 'connection').then(([socket]: Socket[]) => {
    if (socket === undefined) throw new Error('no connection');
    onTestFinished(() => {
      socket.destroy();
    });
    socket.resume();
    if (written.length > 0) socket.write(written);
    return socket;
  });
  listen(server);
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  return { server, connected };
}

/** Resolves with the error of the system when the other side has closed the connection for good. */
async function closed(socket: Socket): Promise<string | undefined> {
  if (!socket.readableEnded) await once(socket, 'end');
  const failed = once(socket, 'error') as Promise<[NodeJS.ErrnoException]>;
  // The first bytes are answered with a reset, over TCP a moment later.
  for (let left = 100; left > 0 && !socket.destroyed; left -= 1) {
    await new Promise((resolve) => socket.write(Buffer.alloc(1), resolve));
  }
  return (await failed)[0].code;
}

/** A health check of this node, but for its port and its time. */
const local = { host: '127.0.0.1', service: '', userAgent: 'test/1' };

test.each([
  ['says nothing', Buffer.alloc(0), 'timeout: health rpc did not complete within 1s'],
  ['does not answer', settings, 'timeout: health rpc did not complete within 1s'],
])('the connection of a health check to a server that %s ends with the check', async (_what, written, outcome) => {
  const { server, connected } = await startServer((one) => one.listen(0, '127.0.0.1'), written);
  const { port } = server.address() as AddressInfo;
  expect(await grpcHealthCheck({ ...local, port, timeoutMs: 1000 })).toBe(outcome);
  expect(await closed(await connected)).toMatch(/EPIPE|ECONNRESET/);
});

test('the connection to a socket that says nothing ends when the time is up', async () => {
  const path = join(await temporaryFolder(), 'silent.sock');
  const { connected } = await startServer((server) => server.listen(path), Buffer.alloc(0));
  const clock = new FakeClock();
  const channel = openReadyChannel(path, { timeoutMs: 10_000, clock });
  const failed = expect(channel).rejects.toThrow('context deadline exceeded');
  const socket = await connected;
  await clock.advance(10_000);
  await failed;
  expect(await closed(socket)).toMatch(/EPIPE|ECONNRESET/);
});

test('a health check of a server that speaks HTTP/1.1 fails at once', async () => {
  const answer = Buffer.from('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n');
  const { server } = await startServer((one) => one.listen(0, '127.0.0.1'), answer);
  const { port } = server.address() as AddressInfo;
  const checked = grpcHealthCheck({ ...local, port, timeoutMs: 20_000 });
  expect(await checked).toMatch(/^error: failed to connect service at "127\.0\.0\.1:\d+": Protocol error \(.*\)$/);
});

/** A frame of HTTP/2 for the first stream. */
function frame(type: number, content: Buffer): Buffer {
  const head = Buffer.from([0, 0, 0, type, 0, 0, 0, 0, 1]);
  head.writeUIntBE(content.length, 0, 3);
  return Buffer.concat([head, content]);
}

/** Headers of 15 KB that are not the last of their block, and a frame that may not follow. */
const brokenOff = Buffer.concat([
  frame(1, Buffer.concat([Buffer.from([0x88, 0x00, 0x01, 0x61, 0x7f, 0x99, 0x74]), Buffer.alloc(15_000, 'a')])),
  frame(0, Buffer.alloc(15_000)),
]);

test('a server that breaks off its headers does not end the process', async () => {
  const server = createServer((socket) => {
    onTestFinished(() => {
      socket.destroy();
    });
    socket.write(settings);
    socket.once('data', () => socket.write(brokenOff));
    socket.on('error', () => undefined).resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const checks = Array.from({ length: 50 }, () => grpcHealthCheck({ ...local, port, timeoutMs: 10_000 }));
  expect(new Set(await Promise.all(checks))).toEqual(
    new Set([
      'error: health rpc probe failed: Received RST_STREAM with code 2 triggered by internal client error: the server broke off a header block',
    ]),
  );
  // Node looks at what is left of a connection when its memory is freed.
  countChannels();
});

const countChannels = (): number => queryObjects(Channel, { format: 'count' });

test.each([
  ['says nothing', Buffer.alloc(0)],
  ['speaks another protocol', Buffer.alloc(100, 'x')],
])('nothing is left of a channel to a server that %s when the time is up', async (_what, written) => {
  const path = join(await temporaryFolder(), 'other.sock');
  const { connected } = await startServer((server) => server.listen(path), written);
  const before = countChannels();
  const clock = new FakeClock();
  const channel = openReadyChannel(path, { timeoutMs: 10_000, clock });
  const failed = expect(channel).rejects.toThrow('context deadline exceeded');
  await connected;
  await clock.advance(10_000);
  await failed;
  // Those of other tests may go meanwhile.
  expect(countChannels()).toBeLessThanOrEqual(before);
});

test('a server that ends its connections is connected to again after a second, as gRPC does', async () => {
  const times: number[] = [];
  const server = createServer((socket) => {
    times.push(performance.now());
    socket.on('error', () => undefined).destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const clock = new FakeClock();
  const channel = openReadyChannel(`dns:127.0.0.1:${port}`, { timeoutMs: 10_000, clock });
  const failed = expect(channel).rejects.toThrow('context deadline exceeded');
  while (times.length < 2) await once(server, 'connection');
  await clock.advance(10_000);
  await failed;
  const [first = NaN, second = NaN] = times;
  // gRPC waits up to a fifth less, and a busy machine notices the first connection late.
  expect(second - first).toBeGreaterThan(500);
});

test('a server that floods each connection is connected to at most once a second', async () => {
  const times: number[] = [];
  const ping = Buffer.from([0, 0, 8, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  const server = createServer((socket) => {
    times.push(performance.now());
    socket.on('error', () => undefined).resume();
    socket.write(Buffer.concat([settings, ...Array<Buffer>(10_000).fill(ping)]));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const checked = grpcHealthCheck({ ...local, port, timeoutMs: 60_000 });
  while (times.length < 2) await once(server, 'connection');
  // The next connection is refused, which ends the check.
  server.close();
  await checked;
  const [first = NaN, second = NaN] = times;
  // A busy machine notices the first connection late.
  expect(second - first).toBeGreaterThan(500);
});

test('nothing is left of connections that the server answered in another protocol and ended', async () => {
  const server = createServer((socket) => socket.on('error', () => undefined).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const check = { ...local, port, timeoutMs: 10_000 };
  const idle = connectHTTP2('http://localhost', { createConnection: () => new PassThrough() });
  const before = queryObjects(idle.constructor, { format: 'count' });
  idle.destroy();
  for (let round = 0; round < 10; round += 1)
    expect(await grpcHealthCheck(check)).toMatch(/^error: failed to connect service at .*: Protocol error/);
  // Node ends a connection over several turns.
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  expect(queryObjects(idle.constructor, { format: 'count' })).toBeLessThanOrEqual(before);
});

test('nothing is left of a channel that is closed', async () => {
  const path = join(await temporaryFolder(), 'plugin.sock');
  const { connected } = await startServer((server) => server.listen(path), settings);
  const before = countChannels();
  (await openReadyChannel(path, { timeoutMs: 10_000, clock: new FakeClock() })).close();
  expect(await closed(await connected)).toMatch(/EPIPE|ECONNRESET/);
  // Those of other tests may go meanwhile.
  expect(countChannels()).toBeLessThanOrEqual(before);
});
