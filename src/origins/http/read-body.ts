import type { IncomingHttpHeaders } from 'node:http';
import { PassThrough, type Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { maxManifestBytes } from '../../api/decoding/manifest-document.ts';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import { type FetchReport, maxCheapBytes } from '../../engine/config/polled/manifest-origin.ts';
import { GrowingBytes } from '../../files/growing-bytes.ts';
import type { LargeBodies, LargeBody } from './large-bodies.ts';
import type { RequestLimits } from './request-limits.ts';

interface BodyLimits {
  /** Maximum size of the unpacked body. Defaults to 10 MiB. */
  maxBytes?: number;
  /** The bytes of the body are added to these, even if it is cut off. */
  report?: Pick<FetchReport, 'bodyBytes'>;
}

/**
 * Reads a body completely, or closes it. Rejects with an OriginFailure if it exceeds its limit, has an unknown encoding
 * or does not fit on the disk, with the reason of the limits if it takes too long, and with the stream's error if it is
 * cut off.
 */
export async function readBody(
  body: Readable,
  headers: IncomingHttpHeaders,
  limits: RequestLimits,
  largeBodies: LargeBodies,
  { maxBytes = maxManifestBytes, report }: BodyLimits = {},
): Promise<Buffer> {
  const { signal } = limits;
  const cheap = new GrowingBytes();
  let length = 0;
  let large: Promise<LargeBody> | undefined;
  const watch = async function* (source: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    for await (const chunk of source) {
      limits.progress();
      yield chunk;
    }
  };
  const collect = async (source: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of source) {
      length += chunk.length;
      if (report !== undefined) report.bodyBytes += chunk.length;
      refuseFlood(length, maxBytes);
      if (length <= maxCheapBytes) {
        cheap.add(chunk);
        continue;
      }
      large ??= largeBodies.create();
      const kept = await large;
      if (cheap.length > 0) await kept.append(cheap.drain());
      await kept.append(chunk);
    }
  };
  try {
    refuseFlood(Number(headers['content-length']), maxBytes);
    await pipeline(body, watch, unpacker(headers['content-encoding']), collect, { signal });
    return (await (await large)?.whole()) ?? cheap.drain();
  } catch (error) {
    body.destroy();
    // The error of an aborted pipeline lacks the reason.
    signal.throwIfAborted();
    throw error;
  } finally {
    // The large body may still be on its way to being created.
    await large?.then(
      (kept) => kept.close(),
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

function refuseFlood(bytes: number, maxBytes: number): void {
  if (!(bytes > maxBytes)) return;
  const hint = 'It is probably no manifest. Check the path of the URL.';
  throw new OriginFailure('is a flood', `the body is larger than ${sizeText(maxBytes)}`, hint);
}

function sizeText(bytes: number): string {
  if (bytes % mebibyte === 0) return `${bytes / mebibyte} MiB`;
  return bytes % 1024 === 0 ? `${bytes / 1024} KiB` : `${bytes} bytes`;
}

const mebibyte = 1024 * 1024;
