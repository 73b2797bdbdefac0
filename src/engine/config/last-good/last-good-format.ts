import { createHash } from 'node:crypto';
import { maxManifestBytes } from '../../../api/decoding/manifest-document.ts';
import type { SourceName } from '../../../api/values/config-annotations.ts';

/** A manifest with what is said about it, signature included. */
export const maxLastGoodBytes = maxManifestBytes + 1024 * 1024;

/** A manifest as it was when it was good. */
export interface LastGood {
  source: SourceName;
  /** Path or URL. */
  where: string;
  /** The bytes as they were read. */
  body: Uint8Array;
  /** When these bytes were read first; milliseconds since the epoch. */
  savedAt: number;
  /** What came with the body, when it was fetched from a URL. */
  fetched?: Fetched;
  /** Its pods were torn down: it declares nothing, and only tells when the last manifest was signed. */
  tornDown?: boolean;
}

/** Validators and signature of a manifest, to ask for changes and to verify the body again. */
export interface Fetched {
  etag?: string;
  lastModified?: string;
  /** Text of its `.minisig`. */
  signature?: string;
}

/** A line with the hash of all that follows, a line of JSON about the manifest, the manifest. */
export function encodeLastGood({ body, ...about }: LastGood): Uint8Array {
  const content = Buffer.concat([Buffer.from(`${JSON.stringify(about)}\n`), body]);
  return Buffer.concat([Buffer.from(`${sha256(content)}\n`), content]);
}

/** Throws when the bytes are not whole, or not of this format. */
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
  if (typeof value !== 'object' || value === null) return false;
  if (!('source' in value && 'where' in value && 'savedAt' in value)) return false;
  return (
    (value.source === 'file' || value.source === 'http') &&
    typeof value.where === 'string' &&
    typeof value.savedAt === 'number' &&
    (!('fetched' in value) || isFetched(value.fetched))
  );
}

function isFetched(value: unknown): value is Fetched {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((text: unknown) => typeof text === 'string')
  );
}

const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');
