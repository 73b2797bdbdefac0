import { once } from 'node:events';
import { readdir, readlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { PassThrough, Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import { maxCheapBytes } from '../../../src/engine/config/polled/manifest-origin.ts';
import { LargeBodies } from '../../../src/origins/http/large-bodies.ts';
import { readBody } from '../../../src/origins/http/read-body.ts';
import { limitRequests } from '../../../src/origins/http/request-limits.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { mountSmallDisk } from '../../support/full-disk.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

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
  const body = await readBody(
    Readable.from(drip()),
    { 'content-encoding': encoding },
    limits,
    new LargeBodies(tmpdir()),
  );
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
  let folder: string;

  beforeEach(async () => {
    folder = await temporaryFolder();
  });

  /** Targets of this process's descriptors below the folder. */
  async function openFiles(): Promise<string[]> {
    const descriptors = await readdir('/proc/self/fd');
    const targets = await Promise.all(
      descriptors.map((descriptor) => readlink(`/proc/self/fd/${descriptor}`).catch(() => '')),
    );
    return targets.filter((target) => target.startsWith(folder));
  }

  /** Begins to read a body that has not ended. */
  function reading(): { stream: PassThrough; read: Promise<Buffer> } {
    const stream = new PassThrough();
    const limits = limitRequests(new FakeClock(), new AbortController().signal);
    const read = readBody(stream, {}, limits, new LargeBodies(folder)).finally(limits.end);
    read.catch(() => undefined);
    for (const chunk of large) stream.write(chunk);
    return { stream, read };
  }

  /** Resolves when the stream handed out what was written to it. */
  const drained = async ({ stream }: { stream: PassThrough }): Promise<void> => {
    if (stream.writableNeedDrain) await once(stream, 'drain');
  };

  test('comes as it was sent, next to another one', async () => {
    const [first, second] = [reading(), reading()];
    await Promise.all([first, second].map(drained));
    first.stream.end('first');
    second.stream.end('second');
    const before = 'x'.repeat(2 * maxCheapBytes);
    expect((await first.read).toString()).toBe(`${before}first`);
    expect((await second.read).toString()).toBe(`${before}second`);
  });

  test('is in a file without a name until it is closed', async () => {
    const body = await new LargeBodies(folder).create();
    await body.append(half);
    expect(await readdir(folder)).toEqual([]);
    expect(await openFiles()).toEqual([expect.stringMatching(/^\S+ \(deleted\)$/)]);
    expect(await body.whole()).toEqual(half);
    await body.close();
    expect(await openFiles()).toEqual([]);
  });

  test('leaves no open file when it is read, or cut', async () => {
    const [good, bad] = [reading(), reading()];
    await Promise.all([good, bad].map(drained));
    good.stream.end();
    bad.stream.destroy(new Error('cut'));
    await good.read;
    await expect(bad.read).rejects.toThrow('cut');
    expect(await openFiles()).toEqual([]);
  });

  test('that finds no place on the disk is refused, with the folder that is full', async () => {
    await mountSmallDisk(folder, 64);
    const { read } = reading();
    await expect(read).rejects.toMatchObject({
      name: 'OriginFailure',
      message: 'a body beyond 512 KiB needs the disk: ENOSPC: no space left on device, write',
      hint: `Make room in ${folder}.`,
    });
    expect(await openFiles()).toEqual([]);
  });
});
