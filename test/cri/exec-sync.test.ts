import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http2';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ExecSyncClient } from '../../src/cri/exec-sync.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** The header grpc-timeout of a call with this deadline. */
async function timeoutSent(deadlineMs: number): Promise<unknown> {
  const server = createServer();
  const path = join(await temporaryFolder(), 'cri.sock');
  server.listen(path);
  await once(server, 'listening');
  const client = new ExecSyncClient(`unix://${path}`);
  onTestFinished(() => {
    client.close();
    server.close();
  });
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
])('the runtime is told of a deadline of %s', async (_, deadlineMs, timeout) => {
  expect(await timeoutSent(deadlineMs)).toBe(timeout);
});
