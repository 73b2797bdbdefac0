import { createHash, createHmac } from 'node:crypto';
import { maxManifestBytes } from '../../../api/decoding/manifest-document.ts';
import { isSourceName, type SourceName } from '../../../api/values/config-annotations.ts';

/** Longest saved manifest, including its metadata and signature. */
export const maxLastGoodBytes = maxManifestBytes + 1024 * 1024;

/** The last good revision of a manifest. */
export interface LastGood {
  source: SourceName;
  /** Path or URL. */
  where: string;
  /** The unchanged bytes. */
  body: Uint8Array;
  /** When these bytes were first read; milliseconds since the epoch. */
  savedAt: number;
  /** Set if the body was fetched from a URL. */
  fetched?: Fetched;
  /** True if its pods were torn down. Then it declares nothing, and only preserves the time of the last signature. */
  tornDown?: boolean;
}

/** Validators for conditional requests, and the signature to verify the body again. */
export interface Fetched {
  etag?: string | undefined;
  lastModified?: string | undefined;
  /** Text of its `.minisig`. */
  signature?: string | undefined;
  /**
   * Time of the newest signature that was accepted, in seconds since the epoch, as decimal digits. It is kept even if
   * the key is removed, so that no older body is accepted once the key is back.
   */
  signedAt?: string | undefined;
  /** `selectorDigest` of the request. Absent if the origin has no selector. */
  selector?: string | undefined;
}

/**
 * Returns a digest for comparing the query and headers of requests, which are secret. The body's digest is the salt, so
 * equal requests for different bodies have different digests.
 */
export function selectorDigest(selector: string | undefined, bodyDigest: string): string | undefined {
  return selector === undefined ? undefined : createHmac('sha256', bodyDigest).update(selector).digest('hex');
}

/** Thrown if a manifest exceeds `maxLastGoodBytes` and therefore could not be read again. */
export class TooLargeToSave extends Error {
  override readonly name = 'TooLargeToSave';
}

/**
 * Format: a line with the hash of the rest, a line of JSON with the metadata, the manifest. Throws TooLargeToSave if
 * the result is too long.
 */
export function encodeLastGood({ body, ...about }: LastGood): Uint8Array {
  const content = Buffer.concat([Buffer.from(`${JSON.stringify(about)}\n`), body]);
  const encoded = Buffer.concat([Buffer.from(`${sha256(content)}\n`), content]);
  if (encoded.length <= maxLastGoodBytes) return encoded;
  throw new TooLargeToSave(`the manifest of ${about.where} has ${encoded.length} bytes with its metadata`);
}

/** Throws if the bytes are damaged or not in this format. */
export function decodeLastGood(bytes: Buffer): LastGood {
  const content = bytes.subarray(bytes.indexOf('\n') + 1);
  if (bytes.subarray(0, -content.length - 1).toString('latin1') !== sha256(content)) {
    throw new Error('its content is not what was written');
  }
  const bodyStart = content.indexOf('\n') + 1;
  const about: unknown = JSON.parse(content.subarray(0, bodyStart).toString('utf8'));
  if (!isAbout(about)) throw new Error('it was written by another release');
  return { ...about, body: content.subarray(bodyStart) };
}

function isAbout(value: unknown): value is Omit<LastGood, 'body'> {
  const { source, where, savedAt, fetched = {} } = Object(value) as Partial<Record<keyof LastGood, unknown>>;
  const isKnown = isSourceName(source) && typeof where === 'string' && typeof savedAt === 'number';
  return isKnown && Object.values(Object(fetched) as object).every((text) => typeof text === 'string');
}

/** 64 hex digits. */
export const sha256 = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex');
