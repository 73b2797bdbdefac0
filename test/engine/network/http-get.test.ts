import { EventEmitter, getEventListeners, once } from 'node:events';
import { type ClientRequest, createServer as createHTTPServer } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { sendRequest } from '../../../src/origins/http/http-request.ts';
import { httpGet, limitInformational } from '../../../src/engine/network/http-get.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

/** A server that says `greeting` and then the same bytes for as long as anyone reads them. */
async function pouringServer(greeting: string, poured: string): Promise<string> {
  const bytes = Buffer.from(poured.repeat(Math.ceil(65_536 / poured.length)));
  const server = createServer((socket: Socket) => {
    const pour = (): void => {
      while (!socket.destroyed && socket.write(bytes));
    };
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined).on('drain', pour);
    socket.write(greeting);
    pour();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `http://127.0.0.1:${address.port}/`;
}

const ok = 'HTTP/1.1 200 OK\r\n';
const kinds: Record<string, [greeting: string, poured: string]> = {
  'one 1xx after the other': ['', 'HTTP/1.1 102 Processing\r\n\r\n'],
  'headers without end': [ok, `X-Filler: ${'x'.repeat(1000)}\r\n`],
  'one header without end': [`${ok}X-Filler: `, 'x'],
  'a status line without end': ['HTTP/1.1 200 ', 'x'],
  'bytes that are no HTTP': ['', '\u001b[2J'],
};

// No time passes: what ends it is what was sent.
const neverAborted = new AbortController().signal;

test.each(Object.entries(kinds))('a probe of a server that sends %s ends by itself', async (_title, [hi, poured]) => {
  const url = await pouringServer(hi, poured);
  const request = { url, headers: {}, hostHeader: '' };
  await expect(httpGet(request, { clock: new FakeClock(), signal: neverAborted })).rejects.toThrow();
});

test('reads only the beginning of an endless body', async () => {
  const url = await pouringServer(`${ok}\r\n`, 'x');
  const request = { url, headers: {}, hostHeader: '' };
  expect(await httpGet(request, { clock: new FakeClock(), signal: neverAborted })).toEqual({
    statusCode: 200,
    body: 'x'.repeat(10_240),
  });
});

test.each([
  ['%EF%BD%8Cocalhost', 'localhost'],
  ['ｌocalhost', 'localhost'],
])('a probe of the host %s asks for %s', async (host, asked) => {
  const server = createHTTPServer((request, response) => response.end(request.headers.host)).listen(0, 'localhost');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const request = { url: `http://${host}:${port}/`, headers: {}, hostHeader: '' };
  expect(await httpGet(request, { clock: new FakeClock(), signal: neverAborted })).toEqual({
    statusCode: 200,
    body: `${asked}:${port}`,
  });
});

test('a probe that no server takes names its host as Go does', async () => {
  const server = createServer().listen(0, 'localhost');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const request = { url: `http://ｌocalhost:${port}/`, headers: {}, hostHeader: '' };
  await expect(httpGet(request, { clock: new FakeClock(), signal: neverAborted })).rejects.toThrow(
    `Get "http://%EF%BD%8Cocalhost:${port}/": `,
  );
});

test('a probe leaves nothing in the signal that ends all probes of its container', async () => {
  const { signal } = new AbortController();
  const url = await pouringServer(`${ok}\r\n`, 'x');
  await httpGet({ url, headers: {}, hostHeader: '' }, { timeoutMs: 1000, clock: new FakeClock(), signal });
  // Node keeps the signals that AbortSignal.any made of one in a set of that one.
  const kept = (one: AbortSignal): unknown[] =>
    Object.getOwnPropertySymbols(one).filter(({ description }) => description === 'kDependantSignals');
  const control = new AbortController().signal;
  const made = AbortSignal.any([control]);
  expect([made.aborted, kept(control).length, kept(signal)]).toEqual([false, 1, []]);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('fails the request at the first of thousands of 1xx answers in one packet', () => {
  const request = Object.assign(new EventEmitter(), { destroy: vi.fn() });
  limitInformational(request as unknown as ClientRequest);
  for (let answers = 0; answers < 5; answers++) request.emit('information');
  expect(request.destroy).not.toHaveBeenCalled();
  for (let answers = 0; answers < 5000; answers++) request.emit('information');
  expect(request.destroy.mock.calls).toEqual([[new Error('too many 1xx informational responses')]]);
});

test('a request for a manifest ends by itself when the server sends one 1xx after the other', async () => {
  const url = new URL(await pouringServer('', 'HTTP/1.1 103 Early Hints\r\n\r\n'));
  const request = sendRequest({ url, headers: {}, tls: {}, proxy: undefined, signal: neverAborted });
  await expect(request).rejects.toThrow('too many 1xx informational responses');
});
