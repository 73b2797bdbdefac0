import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { maxManifestBytes } from '../../../api/decoding/manifest-document.ts';
import { HTTPFailure } from './http-failure.ts';
import type { RequestLimits } from './request-limits.ts';

/**
 * Reads a body to its end, or closes it. Rejects with an HTTPFailure when it has more than 10 MiB, unpacked, or an
 * encoding that was not asked for; with the reason of the limits when it takes too long; with the stream's error when
 * it is cut.
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
      bytes += chunk.length;
      if (bytes > maxManifestBytes) throw tooLarge();
      chunks.push(chunk);
    }
  };
  try {
    if (Number(headers['content-length']) > maxManifestBytes) throw tooLarge();
    if (isPacked(headers['content-encoding'])) await pipeline(body, watch, createGunzip(), collect, { signal });
    else await pipeline(body, watch, collect, { signal });
  } catch (error) {
    body.destroy();
    // A pipeline that is aborted does not say why.
    signal.throwIfAborted();
    throw error;
  }
  return Buffer.concat(chunks);
}

function isPacked(encoding = 'identity'): boolean {
  switch (encoding.toLowerCase()) {
    case 'identity':
      return false;
    case 'gzip':
    case 'x-gzip':
      return true;
    default:
      throw new HTTPFailure('is no manifest', 'the body has an encoding that was not asked for', {
        hint: 'Let the server send it as it is, or with gzip.',
      });
  }
}

function tooLarge(): HTTPFailure {
  const mebibytes = maxManifestBytes / 1024 / 1024;
  return new HTTPFailure('is a flood', `the body is larger than ${mebibytes} MiB`, {
    hint: 'Is that a manifest? Check the path of the URL.',
  });
}
