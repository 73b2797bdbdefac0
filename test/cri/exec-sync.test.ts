import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ExecSyncClient } from '../../src/cri/exec-sync.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A server, and a client of it. */
async function connected(options: ConstructorParameters<typeof ExecSyncClient>[1] = {}) {
  const server = createServer();
  const path = join(await temporaryFolder(), 'cri.sock');
  server.listen(path);
  await once(server, 'listening');
  const client = new ExecSyncClient(`unix://${path}`, options);
  onTestFinished(() => {
    client.close();
    server.close();
  });
  return { server, client };
}

/** The header grpc-timeout of a call with this deadline. */
async function timeoutSent(deadlineMs: number): Promise<unknown> {
  const { server, client } = await connected();
  const streamed = once(server, 'stream') as Promise<[unknown, IncomingHttpHeaders]>;
  const giveUp = new AbortController();
  const failed = expect(client.call({}, { deadlineMs, signal: giveUp.signal })).rejects.toThrow('seen');
  const [, headers] = await streamed;
  giveUp.abort(new Error('seen'));
  await failed;
  return headers['grpc-timeout'];
}

test.each([
  ['1.5 seconds', 1500, '2S'],
  ['more seconds than the eight digits of the protocol', 100_000_119_000, '99999999S'],
  ['no time', Infinity, undefined],
])('passes a deadline of %s to the runtime', async (_, deadlineMs, timeout) => {
  expect(await timeoutSent(deadlineMs)).toBe(timeout);
});

test('a connection without numbers for more calls is replaced, and its calls go on', async () => {
  const { server, client } = await connected({ maxCalls: 2 });
  const streams: ServerHttp2Stream[] = [];
  const calls: Promise<unknown>[] = [];
  for (let call = 0; call < 5; call += 1) {
    const streamed = once(server, 'stream') as Promise<[ServerHttp2Stream]>;
    calls.push(client.call().catch((error: unknown) => error));
    streams.push((await streamed)[0]);
  }
  const sessions = streams.map(({ session }) => session);
  expect(sessions.map((session) => sessions.indexOf(session))).toEqual([0, 0, 2, 2, 4]);
  for (const stream of streams) stream.respond({ ':status': 200, 'grpc-status': '5' }, { endStream: true });
  expect(await Promise.all(calls)).toEqual(calls.map(() => expect.objectContaining({ code: 5 }) as unknown));
});
