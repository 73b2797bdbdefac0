import { PassThrough, Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { maxCheapBytes } from '../../../src/engine/config/polled/manifest-origin.ts';
import { LargeBodies, maxTurnWaitMs } from '../../../src/origins/http/large-bodies.ts';
import { readBody } from '../../../src/origins/http/read-body.ts';
import { limitRequests } from '../../../src/origins/http/request-limits.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

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
  const body = await readBody(Readable.from(drip()), { 'content-encoding': encoding }, limits, new LargeBodies(clock));
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

describe('a large body', () => {
  const half = Buffer.alloc(maxCheapBytes / 2, 'x');
  const large = [half, half, half, half];

  interface Reading {
    stream: PassThrough;
    read: Promise<Buffer>;
  }

  /** A body that has not ended. Resolves when all of it was read, or waits for its turn. */
  async function reading(
    largeBodies: LargeBodies,
    clock: FakeClock,
    signal = new AbortController().signal,
  ): Promise<Reading> {
    const stream = new PassThrough();
    const limits = limitRequests(clock, signal);
    const read = readBody(stream, {}, limits, largeBodies).finally(limits.end);
    read.catch(() => undefined);
    for (const chunk of large) stream.write(chunk);
    await setImmediate();
    return { stream, read };
  }

  test('comes as it was sent', async () => {
    expect(await read(large)).toBe('x'.repeat(2 * maxCheapBytes));
  });

  test('is read after the end of the one before it', async () => {
    const clock = new FakeClock();
    const largeBodies = new LargeBodies(clock);
    const first = await reading(largeBodies, clock);
    const second = await reading(largeBodies, clock);
    second.stream.end();
    expect(await Promise.race([second.read, setImmediate('waits')])).toBe('waits');
    first.stream.end();
    expect((await first.read).length).toBe(2 * maxCheapBytes);
    expect((await second.read).length).toBe(2 * maxCheapBytes);
    expect(clock.pending).toBe(0);
  });

  test('waits only for a while for one that does not end', async () => {
    const clock = new FakeClock();
    const largeBodies = new LargeBodies(clock);
    const first = await reading(largeBodies, clock);
    const second = await reading(largeBodies, clock);
    second.stream.end();
    expect(await Promise.race([second.read, setImmediate('waits')])).toBe('waits');
    await clock.advance(maxTurnWaitMs);
    expect((await second.read).length).toBe(2 * maxCheapBytes);
    first.stream.end();
    await first.read;
  });

  test('that was cut while it waited keeps no other from its turn', async () => {
    const clock = new FakeClock();
    const largeBodies = new LargeBodies(clock);
    const first = await reading(largeBodies, clock);
    const cut = await reading(largeBodies, clock);
    const last = await reading(largeBodies, clock);
    cut.stream.destroy(new Error('cut'));
    await expect(cut.read).rejects.toThrow('cut');
    for (const { stream } of [first, last]) stream.end();
    expect((await first.read).length).toBe(2 * maxCheapBytes);
    expect((await last.read).length).toBe(2 * maxCheapBytes);
  });

  test('that is given up lets the next one go on', async () => {
    const clock = new FakeClock();
    const largeBodies = new LargeBodies(clock);
    const first = new AbortController();
    const second = new AbortController();
    const given = [await reading(largeBodies, clock, first.signal), await reading(largeBodies, clock, second.signal)];
    const last = await reading(largeBodies, clock);
    last.stream.end();
    expect(await Promise.race([last.read, setImmediate('waits')])).toBe('waits');
    second.abort(new Error('stopped'));
    first.abort(new Error('stopped'));
    for (const { read } of given) await expect(read).rejects.toThrow('stopped');
    expect((await last.read).length).toBe(2 * maxCheapBytes);
  });
});
