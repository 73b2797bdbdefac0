import { constants, createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { UserError } from '../errors.ts';
import type { ImportProgress } from './import-progress.ts';

/** Opens an archive and decompresses it. */
export async function openArchive(file: string, onProgress?: (progress: ImportProgress) => void): Promise<Readable> {
  const { isGzip, totalBytes } = await readArchiveHead(file);
  const source = createReadStream(file, { highWaterMark: 1 << 20 });
  let readBytes = 0;
  onProgress?.({ file, readBytes, totalBytes });
  source.on('data', (chunk) => {
    readBytes += chunk.length;
    onProgress?.({ file, readBytes, totalBytes });
  });
  // Paused until it has a reader.
  source.pause();
  return isGzip ? gunzipped(source) : source;
}

function gunzipped(source: Readable): Readable {
  const gunzip = createGunzip();
  source.on('error', (error) => gunzip.destroy(error));
  return source.pipe(gunzip);
}

/** Decompresses an archive that comes as a stream. */
export async function uncompressed(input: Readable): Promise<Readable> {
  const chunks = (input as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
    head = Buffer.concat([head, next.value]);
    if (head.length >= magicLength) break;
  }
  const whole = async function* (): AsyncGenerator<Buffer> {
    yield head;
    yield* { [Symbol.asyncIterator]: () => chunks };
  };
  const source = Readable.from(whole(), { objectMode: false });
  return beginsAsGzip(head) ? gunzipped(source) : source;
}

const magicLength = 2;
const beginsAsGzip = (head: Buffer): boolean => head.length >= magicLength && head.readUInt16BE() === 0x1f8b;

async function readArchiveHead(file: string): Promise<{ isGzip: boolean; totalBytes: number }> {
  // Does not block on a named pipe, which is rejected below.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new UserError('it is not a regular file');
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(magicLength), 0, magicLength, 0);
    return { isGzip: beginsAsGzip(buffer.subarray(0, bytesRead)), totalBytes: stats.size };
  } finally {
    await handle.close();
  }
}
