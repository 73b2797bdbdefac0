import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { type Session, startStreamingServer } from '../../cri/streaming/streaming-server.ts';
import type { ApiRuntime } from '../../../src/server/api/api-engine.ts';
import { HeaderBlockWriter, synStreamFrame } from '../../../src/cri/streaming/spdy-frames.ts';
import { CertificateAuthority } from '../../fakes/certificate-authority.ts';
import { ApiRig } from './api-rig.ts';

const v5 = 'v5.channel.k8s.io';

/** A node whose runtime speaks only SPDY, as containerd 1.6 does. */
async function openNode(onSession: (session: Session) => void): Promise<ApiRig> {
  const runtime = await startStreamingServer({ spdy: true }, onSession);
  onTestFinished(() => runtime.close());
  const serve = (): Promise<{ url: string }> => Promise.resolve({ url: `http://127.0.0.1:${runtime.port}/exec/token` });
  const listPodSandbox = (() =>
    Promise.resolve({ items: [{ id: 'sandbox', createdAt: 1n }] })) as unknown as ApiRuntime['listPodSandbox'];
  return ApiRig.open({ anonymous: true, runtime: { exec: serve, attach: serve, portForward: serve, listPodSandbox } });
}

/** A client of the node, and what it gets: the channel and the text of each message. */
function connect({ port }: ApiRig, path: string, protocols: readonly string[] = [v5]) {
  const client = new WebSocket(`wss://127.0.0.1:${port}${path}`, [...protocols], { rejectUnauthorized: false });
  onTestFinished(() => {
    client.terminate();
  });
  const got: [number | undefined, string][] = [];
  client.on('message', (message: Buffer) => got.push([message[0], message.subarray(1).toString()]));
  const closed = once(client, 'close').then(([code]) => Number(code));
  return { client, got, closed };
}

const exec = '/exec/default/web/a?command=sh';

test('a command gets input and its end, and brings output, errors and the exit code', async () => {
  const received: string[] = [];
  const rig = await openNode((session) => {
    received.push(`${session.protocol} ${session.streams.join(' ')}`);
    session.received = (stream, bytes) => {
      received.push(`${stream}: ${bytes.toString()}`);
      if (bytes !== 'end') return;
      session.send('stdout', 'out');
      session.send('stderr', 'err');
      session.exit(3);
    };
  });
  const { client, got, closed } = connect(rig, `${exec}&input=1&output=1&error=1`);
  await once(client, 'open');
  for (const message of [Buffer.from('\0typed'), Buffer.from('\tunknown channel'), Buffer.of(255, 0)])
    client.send(message);
  expect(await closed).toBe(1000);
  expect(client.protocol).toBe(v5);
  expect(received).toEqual(['v4.channel.k8s.io error stdin stdout stderr', 'stdin: typed', 'stdin: end']);
  const status = {
    metadata: {},
    status: 'Failure',
    message: 'command terminated with non-zero exit code: command terminated with exit code 3',
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: '3' }] },
  };
  expect(got).toEqual([
    [1, ''],
    [1, 'out'],
    [2, 'err'],
    [3, JSON.stringify(status)],
  ]);
});

test('a terminal is resized', async () => {
  const rig = await openNode((session) => {
    session.received = (stream, bytes) => {
      session.send('stdout', `${stream} ${bytes.toString()}`);
      session.exit(0);
    };
  });
  const { client, got, closed } = connect(rig, `${exec}&input=1&output=1&tty=1`);
  await once(client, 'open');
  client.send(Buffer.from('\x04{"Width":80,"Height":24}'));
  await closed;
  expect(got).toEqual([
    [1, ''],
    [1, 'resize {"Width":80,"Height":24}'],
    [3, '{"metadata":{},"status":"Success"}'],
  ]);
});

test('a client that leaves ends the connection to the runtime', async () => {
  const rig = await openNode((session) => {
    session.received = () => {
      session.send('stdout', 'read');
    };
  });
  const { client } = connect(rig, `${exec}&input=1&output=1`);
  await once(client, 'message');
  client.send(Buffer.from('\0typed'));
  await once(client, 'message');
  client.terminate();
  await rig.untilClosed();
});

test.each([
  ['closes a channel that is not its own', Buffer.of(255, 9), [[1, '']]],
  ['sends more than a mebibyte at once', Buffer.alloc(1024 * 1024 + 1), [[1, '']]],
])('a client that %s is let go', async (_title, message, expected) => {
  const rig = await openNode(() => undefined);
  const { client, got, closed } = connect(rig, `${exec}&input=1&output=1`);
  await once(client, 'message');
  client.send(message);
  await closed;
  expect(got).toEqual(expected);
});

test('a runtime whose certificate nobody knows gets no command', async () => {
  const { cert, key } = await (await CertificateAuthority.make('runtime')).issue('runtime');
  const got: string[] = [];
  const server = createServer({ cert, key }, (socket) =>
    socket.on('data', (bytes: Buffer) => got.push(bytes.toString())),
  );
  server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/exec/token`;
  const rig = await ApiRig.open({ anonymous: true, runtime: { exec: () => Promise.resolve({ url }) } });
  const { got: messages, closed } = connect(rig, `${exec}&output=1`);
  await closed;
  expect(messages.at(-1)?.[1]).toContain(
    'error dialing backend: tls: failed to verify certificate: x509: certificate signed by unknown authority',
  );
  expect(got).toEqual([]);
});

test('a runtime that cannot be reached, or breaks off, is a failure in the error channel', async () => {
  const broken = await openNode((session) => {
    session.drop();
  });
  const serve = (): Promise<{ url: string }> => Promise.resolve({ url: 'http://127.0.0.1:1/exec' });
  const gone = await ApiRig.open({ anonymous: true, runtime: { exec: serve } });
  const statusOf = async (rig: ApiRig): Promise<unknown> => {
    const { got, closed } = connect(rig, `${exec}&output=1`);
    await closed;
    return JSON.parse(got.at(-1)?.[1] ?? '');
  };
  const failure = (message: string): object => ({
    metadata: {},
    status: 'Failure',
    message: `Internal error occurred: ${message}`,
    reason: 'InternalError',
    details: { causes: [{ message }] },
    code: 500,
  });
  expect([await statusOf(broken), await statusOf(gone)]).toEqual([
    failure('lost the connection to the container runtime before the command ended'),
    failure('error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused'),
  ]);
});

const handshake = ['Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Protocol: ${v5}`];

test.each([
  ['POST', ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='], '405 bad method'],
  [
    'GET',
    ['Sec-WebSocket-Version: 8', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='],
    '400 missing or bad WebSocket Version',
  ],
  ['GET', ['Sec-WebSocket-Version: 13'], '400 mismatch challenge/response'],
])('a handshake that is not correct is refused: %s %j', async (method, headers, answer) => {
  const rig = await openNode(() => undefined);
  expect(await rig.short(`${method} ${exec}&output=1`, { headers: [...handshake, ...headers] })).toBe(answer);
});

test('ports are forwarded as SPDY inside of a WebSocket', async () => {
  const rig = await openNode(() => undefined);
  const socket = await rig.connect();
  const headers = ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Protocol: SPDY/3.1+portforward.k8s.io'];
  const key = ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
  socket.write(['GET /portForward/default/web HTTP/1.1', 'Host: node', ...headers, ...key, '', ''].join('\r\n'));
  let got = Buffer.alloc(0);
  const until = async (isThere: () => boolean): Promise<void> => {
    while (!isThere()) got = Buffer.concat([got, ...((await once(socket, 'data')) as [Buffer])]);
  };
  await until(() => got.includes('\r\n\r\n'));
  const head = got.toString('latin1').split('\r\n').sort();
  got = Buffer.alloc(0);
  // A frame that opens a stream, in a binary message. The runtime asks for a ping before it accepts it.
  const stream = synStreamFrame(1, new HeaderBlockWriter().write({ streamtype: 'error' }));
  socket.write(Buffer.concat([Buffer.of(0x82, 0x80 | stream.length, 0, 0, 0, 0), stream]));
  await until(() => got.length >= 6);
  expect({ head, message: got.subarray(0, 6).toString('hex') }).toEqual({
    head: [
      '',
      '',
      'Connection: Upgrade',
      'HTTP/1.1 101 Switching Protocols',
      'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=',
      'Sec-WebSocket-Protocol: SPDY/3.1+portforward.k8s.io',
      'Upgrade: websocket',
    ],
    message: '820c80030006',
  });
  socket.destroy();
});
