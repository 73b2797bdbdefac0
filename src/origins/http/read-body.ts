import type { IncomingHttpHeaders } from 'node:http';
import { PassThrough, type Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { maxManifestBytes } from '../../api/decoding/manifest-document.ts';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import { maxCheapBytes } from '../../engine/config/polled/manifest-origin.ts';
import type { LargeBodies } from './large-bodies.ts';
import type { RequestLimits } from './request-limits.ts';

/**
 * Reads a body to its end, or closes it. Rejects with an OriginFailure if it exceeds 10 MiB unpacked or has an unknown
 * encoding. Rejects with the reason of the limits if it takes too long, and with the stream's error if it is cut.
 */
export async function readBody(
  body: Readable,
  headers: IncomingHttpHeaders,
  limits: RequestLimits,
  largeBodies: LargeBodies,
): Promise<Buffer> {
  const { signal } = limits;
  // Grows in place, and gives its memory back at the end, not at the next collection of garbage.
  const memory = new ArrayBuffer(0, { maxByteLength: maxManifestBytes });
  let length = 0;
  let turn: Promise<() => void> | undefined;
  const watch = async function* (source: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    for await (const chunk of source) {
      limits.progress();
      yield chunk;
    }
  };
  const collect = async (source: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of source) {
      const end = length + chunk.length;
      refuseFlood(end);
      if (end > maxCheapBytes) {
        turn ??= largeBodies.turn(signal);
        await turn;
        largeBodies.received(chunk.length);
      }
      if (end > memory.byteLength) memory.resize(Math.min(2 * end, maxManifestBytes));
      chunk.copy(Buffer.from(memory), length);
      length = end;
    }
  };
  try {
    refuseFlood(Number(headers['content-length']));
    await pipeline(body, watch, unpacker(headers['content-encoding']), collect, { signal });
    return Buffer.from(Buffer.from(memory, 0, length));
  } catch (error) {
    body.destroy();
    // The error of an aborted pipeline lacks the reason.
    signal.throwIfAborted();
    throw error;
  } finally {
    memory.resize(0);
    // A body that was cut while it waited ends its turn as soon as it comes.
    turn?.then(
      (end) => {
        end();
      },
      () => undefined,
    );
  }
}

function unpacker(encoding = 'identity'): Transform {
  if (/^identity$/i.test(encoding)) return new PassThrough();
  if (/^(x-)?gzip$/i.test(encoding)) return createGunzip();
  const hint = 'Let the server send it unencoded, or with gzip.';
  throw new OriginFailure('is no manifest', 'the body has an encoding that was not requested', hint);
}

function refuseFlood(bytes: number): void {
  if (!(bytes > maxManifestBytes)) return;
  const mebibytes = maxManifestBytes / 1024 / 1024;
  const hint = 'It is probably no manifest. Check the path of the URL.';
  throw new OriginFailure('is a flood', `the body is larger than ${mebibytes} MiB`, hint);
}
