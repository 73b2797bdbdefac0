import { once } from 'node:events';
import { connect as connectHTTP2 } from 'node:http2';
import type { IncomingMessage } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTLSServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { RpcError } from '../../../src/errors.ts';
import { type Clock, systemClock } from '../../../src/clock.ts';
import type { ApiRuntime } from '../../../src/server/api/api-engine.ts';
import { CertificateAuthority } from '../../fakes/certificate-authority.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { ApiRig } from './api-rig.ts';

const upgrade = ['Connection: Upgrade', 'Upgrade: SPDY/3.1'];
const webSocket = ['Connection: keep-alive, Upgrade', 'Upgrade: WebSocket'];
const execLine = 'POST /exec/default/web/a?command=ls&output=1';

/** A streaming server that answers every connection with these bytes, and keeps it open. */
async function streamingServer(answer: string, server: Server = createServer()): Promise<StreamingServer> {
  const got: string[] = [];
  const event = 'setSecureContext' in server ? 'secureConnection' : 'connection';
  server.on(event, (socket: Socket) => {
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined).on('data', (bytes: Buffer) => got.push(bytes.toString()));
    socket.once('data', () => socket.write(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, got };
}

interface StreamingServer {
  port: number;
  /** Bytes that came. */
  got: string[];
}

const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n';

/** A node whose runtime serves streams at this URL, and the calls of the runtime. */
async function nodeWith(
  url: string,
  more: Partial<ApiRuntime> = {},
  clock: Clock = systemClock,
): Promise<{ rig: ApiRig; calls: unknown[] }> {
  const calls: unknown[] = [];
  const serve = (call: unknown): Promise<{ url: string }> => {
    calls.push(call);
    return Promise.resolve({ url });
  };
  const sandbox = { id: 'sandbox', createdAt: 1n };
  const listPodSandbox = (() => Promise.resolve({ items: [sandbox] })) as unknown as ApiRuntime['listPodSandbox'];
  const runtime = { exec: serve, attach: serve, portForward: serve, listPodSandbox, ...more };
  return { rig: await ApiRig.open({ anonymous: true, runtime, clock }), calls };
}

test('a runtime that refuses an upgrade gets nothing more of the client, which gets the answer alone', async () => {
  const body = 'no protocol in common\n';
  const answer = `HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\nX-Runtime: fake\r\n\r\n${body}`;
  const { port, got } = await streamingServer(answer);
  const clock = new FakeClock();
  const { rig } = await nodeWith(`http://127.0.0.1:${port}/exec/token`, {}, clock);
  const socket = await rig.connect();
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  // The second request comes before the answer.
  const hidden = 'GET /hidden HTTP/1.1\r\nHost: runtime\r\n\r\n';
  socket.write(`${[`${execLine} HTTP/1.1`, 'Host: node', ...upgrade].join('\r\n')}\r\n\r\n${hidden}`);
  await once(socket, 'close');
  await rig.untilClosed();
  const head = ['HTTP/1.1 403 Forbidden', 'Content-Type: text/plain', 'Content-Length: 22', 'X-Runtime: fake'];
  expect(text).toBe(`${[...head, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`);
  expect(got.join('')).not.toContain('hidden');
  expect(clock.pending).toBe(0);
});

test('a refusal that is not whole in ten seconds is cut, bytes or not', async () => {
  const { port } = await streamingServer('HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nhalf');
  const clock = new FakeClock();
  const { rig } = await nodeWith(`http://127.0.0.1:${port}/exec/token`, {}, clock);
  const socket = await rig.connect();
  const closed = once(socket, 'close');
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  socket.write(`${[`${execLine} HTTP/1.1`, 'Host: node', ...upgrade].join('\r\n')}\r\n\r\n`);
  while (!text.endsWith('half')) await once(socket, 'data');
  expect(clock.untilNextTimerMs).toBe(10_000);
  await clock.advance(10_000);
  await closed;
  await rig.untilClosed();
  expect([text.split('\r\n')[0], rig.problems, clock.pending]).toEqual(['HTTP/1.1 403 Forbidden', [], 0]);
});

test('a client that does not read its stream is closed a minute after the runtime has ended it', async () => {
  const server = createServer();
  const { port } = await streamingServer(switching, server);
  const { rig } = await nodeWith(`http://127.0.0.1:${port}/exec/token`);
  const upgraded = once(rig.secure.server, 'upgrade') as Promise<[IncomingMessage, Socket]>;
  const dialled = once(server, 'connection') as Promise<[Socket]>;
  const client = await rig.connect();
  client.write(`${[`${execLine} HTTP/1.1`, 'Host: node', ...upgrade].join('\r\n')}\r\n\r\n`);
  await once(client, 'data');
  client.pause();
  const [[, socket], [runtime]] = await Promise.all([upgraded, dialled]);
  // As if it came from the runtime: more than the buffers of both sides hold.
  socket.write(Buffer.alloc(64 * 1024 * 1024));
  expect(socket.timeout).toBe(0);
  runtime.end();
  while (socket.timeout !== 60_000) await nextTurn();
  expect(socket.destroyed).toBe(false);
  // As its timer does.
  socket.emit('timeout');
  await rig.untilClosed();
});

test('an answer that is neither an upgrade nor an error is not passed', async () => {
  const { port } = await streamingServer('HTTP/1.1 204 No Content\r\n\r\n');
  const { rig } = await nodeWith(`http://127.0.0.1:${port}/exec/token`);
  expect(await rig.short(execLine, { headers: upgrade })).toBe('500 invalid upgrade response: status code 204\n');
});

test('a runtime that closes without an answer is an error', async () => {
  const server = createServer((socket) => socket.end());
  const { port } = await streamingServer('', server);
  const { rig } = await nodeWith(`http://127.0.0.1:${port}/exec/token`);
  expect(await rig.short(execLine, { headers: upgrade })).toBe('500 unexpected EOF\n');
});

test('the runtime gets the whole way of a request', async () => {
  const { port, got } = await streamingServer(switching);
  const { rig } = await nodeWith(`http://127.0.0.1:${port}/exec/token`);
  const socket = await rig.connect();
  const headers = [...upgrade, 'X-Forwarded-For: 10.0.0.1', 'X-Forwarded-For: 10.0.0.2, 10.0.0.3'];
  socket.write(`${[`${execLine} HTTP/1.1`, 'Host: node', ...headers].join('\r\n')}\r\n\r\n`);
  await once(socket, 'data');
  socket.destroy();
  const lines = got.join('').split('\r\n');
  expect(lines.filter((line) => line.toLowerCase().startsWith('x-forwarded-for'))).toEqual([
    'X-Forwarded-For: 10.0.0.1, 10.0.0.2, 10.0.0.3, 127.0.0.1',
  ]);
});

test('a runtime is asked over TLS if its URL says so, and an unknown authority is an error', async () => {
  const { cert, key } = await (await CertificateAuthority.make('runtime')).issue('runtime');
  const { port, got } = await streamingServer(switching, createTLSServer({ cert, key }));
  const { rig } = await nodeWith(`https://127.0.0.1:${port}/exec/token`);
  expect(await rig.short(execLine, { headers: upgrade })).toBe(
    '500 error dialing backend: tls: failed to verify certificate: x509: certificate signed by unknown authority\n',
  );
  expect(got).toEqual([]);
});

test('a runtime without a usable URL is an error', async () => {
  const [none, bad] = [await nodeWith(''), await nodeWith('http://[')];
  expect(await none.rig.short(execLine, { headers: upgrade })).toBe('500 URL is not set');
  expect(await bad.rig.short(execLine, { headers: upgrade })).toBe('500 parse "http://[": invalid URL');
  expect([...none.rig.problems, ...bad.rig.problems]).toEqual([]);
});

test('the error of a runtime that cannot list sandboxes is passed', async () => {
  const listPodSandbox = (): Promise<never> => Promise.reject(new RpcError('ListPodSandbox', 14, 'down'));
  const { rig } = await nodeWith('', { listPodSandbox });
  const text = '500 rpc error: code = Unavailable desc = down';
  expect(await rig.short('POST /portForward/default/web', { headers: upgrade })).toBe(text);
  expect(await rig.short('GET /runningpods/')).toBe(text);
  expect(rig.problems).toEqual([]);
});

test('attach looks for the container first, and then compares the UID', async () => {
  const { rig } = await nodeWith('');
  const ask = (path: string): Promise<string> => rig.short(`POST /attach/default/web/${path}?output=1`);
  expect(await ask('other-uid/missing')).toBe('500 container missing not found in pod web_default');
  expect(await ask('other-uid/a')).toBe('500 pod web_default not found');
});

test.each([
  ['', 'query parameter "port" is required'],
  ['port=', 'query parameter "port" cannot be empty'],
  ['port=80,x', 'unable to parse "80,x" as a port: strconv.ParseUint: parsing "x": invalid syntax'],
  ['port=80,', 'unable to parse "80," as a port: strconv.ParseUint: parsing "": invalid syntax'],
  ['port=80,65536', 'unable to parse "80,65536" as a port: strconv.ParseUint: parsing "65536": value out of range'],
  ['port=80,0', 'port "80,0" must be > 0'],
])('ports %j of a WebSocket are refused as the kubelet does', async (query, text) => {
  const { rig } = await nodeWith('');
  const line = `GET /portForward/default/web?${query}`;
  expect(await rig.short(line, { headers: webSocket })).toBe(`400 ${text}`);
});

test.each([
  [webSocket, [80, 443]],
  [['Upgrade: websocket'], []],
  [
    ['Connection: upgraded', 'Upgrade: websocket'],
    [80, 443],
  ],
  [
    ['Connection: keep-alive', 'Connection: Upgrade', 'Upgrade: websocket'],
    [80, 443],
  ],
  [['Connection: upgrade', 'Upgrade: SPDY/3.1'], []],
])('a request with %j is for ports %j', async (headers, port) => {
  const { port: streaming } = await streamingServer('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n');
  const { rig, calls } = await nodeWith(`http://127.0.0.1:${streaming}/`);
  const socket = await rig.connect();
  socket.write(
    `${['GET /portForward/default/web?port=80,443 HTTP/1.1', 'Host: node', ...headers].join('\r\n')}\r\n\r\n`,
  );
  await once(socket, 'data');
  socket.destroy();
  expect(calls).toEqual([{ podSandboxId: 'sandbox', port }]);
});

const form = ['Content-Type: application/x-www-form-urlencoded; charset=utf-8'];
const asOutput = { containerId: 'id-a', tty: false, stdin: false, stdout: true, stderr: false };

test.each([
  ['POST', 'output=1', form, { ...asOutput, cmd: ['ls'] }],
  ['POST', 'output=1&tty=1&command=rm', form, { ...asOutput, cmd: ['ls'], tty: true }],
  ['POST', 'output=1', ['Content-Type: text/plain'], undefined],
  ['GET', 'output=1', form, undefined],
  ['POST', `output=1&long=${'x'.repeat(4096)}`, form, { ...asOutput, cmd: ['ls'] }],
])(
  'a %s with a form in its body asks the runtime as the kubelet does (case %#)',
  async (method, body, headers, call) => {
    const { rig, calls } = await nodeWith('http://127.0.0.1:1/');
    const answer = await rig.short(`${method} /exec/default/web/a?command=ls`, { headers, body });
    expect({ answer, calls }).toEqual(
      call === undefined
        ? { answer: '400 you must specify at least 1 of stdin, stdout, stderr', calls: [] }
        : { answer: '500 Upgrade request required\n', calls: [call] },
    );
  },
);

test('a form counts before the query', async () => {
  const { rig } = await nodeWith('');
  const asked = { headers: form, body: 'output=0' };
  const text = '400 you must specify at least 1 of stdin, stdout, stderr';
  expect(await rig.short('POST /attach/default/web/a?output=1', asked)).toBe(text);
});

test('an upgrade with the type of a form is passed as any other', async () => {
  const { port } = await streamingServer(`${switching}hello`);
  const { rig } = await nodeWith(`http://127.0.0.1:${port}/exec/token`);
  const socket = await rig.connect();
  const head = [`${execLine} HTTP/1.1`, 'Host: node', ...upgrade, ...form, 'Content-Length: 0'];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  expect(answer.toString()).toContain('HTTP/1.1 101 Switching Protocols\r\n');
});

test('a stream over HTTP/2 is refused, because it has no upgrade', async () => {
  const { rig, calls } = await nodeWith('http://127.0.0.1:1/');
  const session = connectHTTP2(`https://127.0.0.1:${rig.port}`, { rejectUnauthorized: false });
  onTestFinished(() => {
    session.destroy();
  });
  const ask = async (path: string): Promise<string> => {
    const stream = session.request({ ':path': path, ':method': 'POST' });
    stream.end();
    return textOf(stream);
  };
  expect(await ask('/portForward/default/web?port=80')).toBe('Upgrade request required\n');
  expect(await ask('/exec/default/web/a?output=1')).toBe('Upgrade request required\n');
  expect({ calls, problems: rig.problems }).toEqual({
    calls: [
      { podSandboxId: 'sandbox', port: [] },
      { ...asOutput, cmd: [] },
    ],
    problems: [],
  });
});
