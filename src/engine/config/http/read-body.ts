import type { IncomingHttpHeaders } from 'node:http';
import { PassThrough, type Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { maxManifestBytes } from '../../../api/decoding/manifest-document.ts';
import { HTTPFailure } from './http-failure.ts';
import type { RequestLimits } from './request-limits.ts';

/**
 * Reads a body to its end, or closes it. Rejects with an HTTPFailure if it exceeds 10 MiB unpacked or has an unknown
 * encoding. Rejects with the reason of the limits if it takes too long, and with the stream's error if it is cut.
 */
export async function readBody(body: Readable, headers: IncomingHttpHeaders, limits: RequestLimits): Promise<Buffer> {
  const { signal } = limits;
  const chunks: Buffer[] = [];
  const watch = async function* (source: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    for await (const chunk of source) {
      limits.progress();
      yield chunk;
    }
  };
  const collect = async (source: AsyncIterable<Buffer>): Promise<void> => {
    let bytes = 0;
    for await (const chunk of source) {
      refuseFlood((bytes += chunk.length));
      chunks.push(chunk);
    }
  };
  try {
    refuseFlood(Number(headers['content-length']));
    await pipeline(body, watch, unpacker(headers['content-encoding']), collect, { signal });
  } catch (error) {
    body.destroy();
    // The error of an aborted pipeline lacks the reason.
    signal.throwIfAborted();
    throw error;
  }
  return Buffer.concat(chunks);
}

function unpacker(encoding = 'identity'): Transform {
  if (/^identity$/i.test(encoding)) return new PassThrough();
  if (/^(x-)?gzip$/i.test(encoding)) return createGunzip();
  const hint = 'Let the server send it unencoded, or with gzip.';
  throw new HTTPFailure('is no manifest', 'the body has an encoding that was not requested', hint);
}

function refuseFlood(bytes: number): void {
  if (!(bytes > maxManifestBytes)) return;
  const mebibytes = maxManifestBytes / 1024 / 1024;
  const hint = 'It is probably no manifest. Check the path of the URL.';
  throw new HTTPFailure('is a flood', `the body is larger than ${mebibytes} MiB`, hint);
}
