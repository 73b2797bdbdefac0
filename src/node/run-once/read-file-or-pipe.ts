import { constants, createReadStream, fstatSync, open } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

const openDescriptor = promisify(open);

/** Longest content. A device may have no end. */
const maxBytes = 1024 * 1024;

/**
 * The content of a file or a pipe. Rejects with an `AbortError` if `signal` is aborted first. No thread waits for the
 * writer of a pipe, because the process could not end before that thread.
 */
export async function readFileOrPipe(path: string, signal: AbortSignal): Promise<Buffer> {
  const fd = await openDescriptor(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const input: Readable = fstatSync(fd).isFIFO()
    ? new Socket({ fd, readable: true, writable: false, signal })
    : createReadStream(path, { fd, signal });
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of input as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) throw new Error('it has more than 1 MiB');
  }
  return Buffer.concat(chunks);
}
