import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { plainAnswer } from '../../../src/server/control/plain-answer.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const timeoutMs = 60_000;

/** The answer of a server that does this when it was asked. */
async function answerOf(act: (socket: Socket) => unknown): Promise<string | undefined> {
  const path = join(await temporaryFolder(), 'socket');
  const server = createServer((socket) => socket.once('data', () => act(socket))).listen(path);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return plainAnswer(path, '/', timeoutMs);
}

const head = (bytes: number): string => `HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\nConnection: close\r\n\r\n`;

test('a whole answer is taken before the agent closes the connection', async () => {
  expect(await answerOf((socket) => socket.write(`${head(2)}ok`))).toBe('ok');
});

test('an answer may come in parts', async () => {
  const body = Buffer.from('é'.repeat(100_000));
  const answer = await answerOf(async (socket) => {
    socket.write(head(body.length));
    // Parts end in the middle of a letter.
    for (let at = 0; at < body.length; at += 9999) {
      socket.write(body.subarray(at, at + 9999));
      await nextTurn();
    }
  });
  expect(answer).toBe(body.toString());
});

test.each([
  ['that ends early', `${head(3)}ok`],
  ['that is longer than it says', `${head(1)}ok`],
  ['without a length', 'HTTP/1.1 200 OK\r\n\r\nok'],
  ['of another status', head(2).replace('200 OK', '404 Not Found') + 'ok'],
  ['without a byte', ''],
])('an answer %s is not taken', async (_name, answer) => {
  expect(await answerOf((socket) => socket.end(answer))).toBeUndefined();
});

test('a Node that keeps its bindings to itself has no answer', async () => {
  const refuse = vi.fn(() => {
    throw new Error('No such binding');
  });
  vi.stubGlobal('process', { ...process, binding: refuse });
  onTestFinished(() => void vi.unstubAllGlobals());
  expect(await answerOf((socket) => socket.end(`${head(2)}ok`))).toBeUndefined();
  expect(refuse.mock.calls).toEqual([['pipe_wrap']]);
});
