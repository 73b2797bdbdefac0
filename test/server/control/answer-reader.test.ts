import { createServer, request } from 'node:http';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { AnswerReader } from '../../../src/server/control/answer-reader.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

interface Answer {
  status: number | undefined;
  body: string;
  isComplete: boolean;
  hasEnded: boolean;
}

/** Reads an answer that arrives in these parts. `hasEnded` is the result when the connection then ends. */
function read(parts: readonly (string | Buffer)[]): Answer {
  const reader = new AnswerReader();
  const body = parts.flatMap((part) => reader.push(Buffer.from(part)));
  const { status, isComplete } = reader;
  return { status, body: Buffer.concat(body).toString(), isComplete, hasEnded: reader.end() };
}

/** A text in at least 64 parts, if it has as many letters. */
const inParts = (text: string): string[] => text.match(new RegExp(`[^]{1,${Math.ceil(text.length / 64)}}`, 'g')) ?? [];

const head = (...fields: string[]) => ['HTTP/1.1 200 OK', ...fields, '', ''].join('\r\n');
const chunked = `${head('Transfer-Encoding: chunked')}4\r\nhalf\r\nA\r\n and a rest\r\n0\r\n\r\n`;
const whole = { status: 200, isComplete: true, hasEnded: true };
const cut = { status: 200, isComplete: false, hasEnded: false };

test.each<[string, string, Answer]>([
  ['of a known length', `${head('content-length: 4')}half`, { ...whole, body: 'half' }],
  ['without a body', head('content-length: 0'), { ...whole, body: '' }],
  ['in chunks', chunked.replace('A\r\n', 'b\r\n'), { ...whole, body: 'half and a rest' }],
  ['up to the end', `${head('Connection: close')}all`, { ...whole, body: 'all', isComplete: false }],
  ['of HTTP/1.0', 'HTTP/1.0 404 Not Found\r\n\r\nno', { ...whole, status: 404, body: 'no', isComplete: false }],
  ['with more than its length', `${head('content-length: 4')}halfHTTP/1.1`, { ...whole, body: 'half' }],
  ['cut in its head', head('content-length: 4').slice(0, -1), { ...cut, status: undefined, body: '' }],
  ['cut in its body', `${head('content-length: 4')}ha`, { ...cut, body: 'ha' }],
  ['cut in a chunk', `${head('transfer-encoding: chunked')}4\r\nha`, { ...cut, body: 'ha' }],
  ['cut before the last chunk', `${head('transfer-encoding: chunked')}2\r\nha\r\n`, { ...cut, body: 'ha' }],
])('an answer %s is read', (_title, text, answer) => {
  expect(read([text])).toEqual(answer);
  expect(read(inParts(text))).toEqual(answer);
});

test.each([
  ['another protocol', 'SSH-2.0-OpenSSH\r\n', 'this is not HTTP'],
  ['another version', 'HTTP/2 200\r\n\r\n', 'this is not HTTP'],
  ['an interim status', 'HTTP/1.1 100 Continue\r\n\r\n', 'no status'],
  ['a head that never ends', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(20_000)}`, 'the head is too long'],
  ['a long head', head(`x: ${'x'.repeat(20_000)}`), 'the head is too long'],
  ['a line that never ends', 'x'.repeat(20_000), 'the head is too long'],
  ['a negative length', head('content-length: -1'), 'the length is not a number'],
  ['two lengths in one', head('content-length: 1, 2'), 'the length is not a number'],
  ['two lengths', head('content-length: 1', 'content-length: 2'), 'this is not HTTP'],
  ['a chunk of an endless size', `${head('transfer-encoding: chunked')}${'1'.repeat(20_000)}`, 'the head is too long'],
  ['a chunk of a negative size', `${head('transfer-encoding: chunked')}-5\r\nabcdefg`, 'a chunk of a negative size'],
  ['a chunk that is too long', `${head('transfer-encoding: chunked')}1\r\nab\r\n`, 'this is not HTTP'],
  ['endless trailers', `${head('transfer-encoding: chunked')}0\r\n${'x: y\r\n'.repeat(4000)}`, 'the head is too long'],
])('an answer with %s is refused', (_title, text, message) => {
  expect(() => read([text])).toThrow(message);
  expect(() => read(inParts(text))).toThrow(message);
});

describe('an answer of Node', () => {
  /** All bytes that Node's server sends for a body that is written in these parts. */
  async function sent(parts: readonly string[], hasLength: boolean): Promise<Buffer> {
    const path = join(await temporaryFolder(), 'a.sock');
    const server = createServer((_request, response) => {
      if (hasLength) response.end(parts.join(''));
      else {
        for (const part of parts) response.write(part);
        response.end();
      }
    });
    onTestFinished(() => {
      server.close();
    });
    await once(server.listen(path), 'listening');
    const socket = connect(path);
    request({ createConnection: () => socket }).end();
    const bytes: Buffer[] = [];
    socket.prependListener('data', (part: Buffer) => bytes.push(part));
    await once(socket, 'close');
    return Buffer.concat(bytes);
  }

  test.each([true, false])('is read from any parts (with a length: %s)', async (hasLength) => {
    const bytes = await sent(['one', 'zwei ü', 'x'.repeat(500)], hasLength);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length)), (cuts) => {
        const ends = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
        const parts = ends.slice(1).map((end, index) => bytes.subarray(ends[index], end));
        expect(read(parts)).toEqual({ ...whole, body: `onezwei ü${'x'.repeat(500)}` });
      }),
    );
  });
});
