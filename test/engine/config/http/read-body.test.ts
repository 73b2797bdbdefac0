import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readBody } from '../../../../src/engine/config/http/read-body.ts';
import { limitRequests } from '../../../../src/engine/config/http/request-limits.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';

/** Reads a body whose every chunk comes after a while. */
async function read(chunks: Iterable<Buffer>, { pauseMs = 0, encoding = 'identity' } = {}): Promise<string> {
  const clock = new FakeClock();
  const limits = limitRequests(clock, new AbortController().signal);
  const drip = async function* (): AsyncIterable<Buffer> {
    for (const chunk of chunks) {
      await clock.advance(pauseMs);
      yield chunk;
    }
  };
  const body = await readBody(Readable.from(drip()), { 'content-encoding': encoding }, limits);
  limits.end();
  expect(clock.pending).toBe(0);
  return body.toString();
}

const letters = (count: number): Buffer[] => new Array<Buffer>(count).fill(Buffer.from('x'));

test('takes its time as long as something comes', async () => {
  expect(await read(letters(6), { pauseMs: 9000 })).toBe('xxxxxx');
});

test('gives up on a body that drips for longer than a minute', async () => {
  await expect(read(letters(1000), { pauseMs: 1000 })).rejects.toThrow('the answer was not complete after 60 s');
});

test('gives up when nothing comes for ten seconds', async () => {
  await expect(read(letters(2), { pauseMs: 10_000 })).rejects.toThrow('the server sent nothing for 10 s');
});

test('unpacks what is packed, of as many chunks as there are', async () => {
  const packed = gzipSync('a manifest');
  expect(await read([packed.subarray(0, 7), packed.subarray(7)], { encoding: 'x-gzip' })).toBe('a manifest');
});

test('does not unpack more than there may be', async () => {
  const bomb = gzipSync(Buffer.alloc(20 * 1024 * 1024));
  await expect(read([bomb], { encoding: 'gzip' })).rejects.toThrow('the body is larger than 10 MiB');
});
