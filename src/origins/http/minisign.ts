import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';

/** An Ed25519 public key for manifests, made by `minisign -G`. */
export interface MinisignPublicKey {
  /** 16 hex digits, in the format that minisign prints. */
  keyId: string;
  key: KeyObject;
}

/** Parses the base64 line of `minisign.pub`, 56 characters. Returns undefined if the text is not a public key. */
export function parseMinisignPublicKey(text: string): MinisignPublicKey | undefined {
  const bytes = decodeBase64(text.trim(), algorithmBytes + keyIdBytes + publicKeyBytes);
  if (bytes?.toString('latin1', 0, algorithmBytes) !== 'Ed') return undefined;
  const x = bytes.subarray(algorithmBytes + keyIdBytes).toString('base64url');
  return { keyId: keyIdOf(bytes), key: createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }) };
}

/** Result of the check of a signature. */
export type Verification =
  /** None of the keys signed it. */
  | { unsignedBecause: string }
  /** One of the keys signed it. `signedAtSeconds`: since the epoch; undefined if the trusted comment has no time. */
  | { signedAtSeconds: number | undefined };

/**
 * Checks that one of the keys signed the content and the trusted comment. `signatureText` is the text of a `.minisig`
 * file. Both forms are accepted: legacy (Ed, over the content) and prehashed (ED, over its BLAKE2b-512 hash).
 */
export function verifyMinisign(
  content: Uint8Array,
  signatureText: string,
  keys: readonly MinisignPublicKey[],
): Verification {
  const signature = parseSignature(signatureText);
  if (signature === undefined) return { unsignedBecause: 'the signature is not in the format of minisign' };
  const { keyId, isPrehashed, bytes, trustedComment, globalBytes } = signature;
  const key = keys.find((candidate) => candidate.keyId === keyId)?.key;
  if (key === undefined) {
    return { unsignedBecause: `it is signed with the key ${keyId}, which is not one of the public keys` };
  }
  const signed = isPrehashed ? createHash('blake2b512').update(content).digest() : content;
  if (!verify(null, signed, key, bytes)) return { unsignedBecause: 'the signature is for other content' };
  const commented = Buffer.concat([bytes, Buffer.from(trustedComment)]);
  if (!verify(null, commented, key, globalBytes)) {
    return { unsignedBecause: 'the trusted comment of the signature was changed' };
  }
  // The default trusted comment of minisign.
  const seconds = /^timestamp:([0-9]{1,12})(?=\s|$)/.exec(trustedComment)?.[1];
  return { signedAtSeconds: seconds === undefined ? undefined : Number(seconds) };
}

/**
 * The longest `.minisig` that is read. minisign writes at most 1 KiB of untrusted comment and 8 KiB of trusted comment.
 */
export const maxSignatureFileBytes = 16 * 1024;

/** The four lines of a `.minisig`. Anybody may append others, which no signature covers. */
export const signatureLines = (text: string): string => /^(?:[^\n]*\n?){4}/.exec(text)?.[0] ?? '';

const algorithmBytes = 2;
const keyIdBytes = 8;
const publicKeyBytes = 32;
const signatureBytes = 64;

interface Signature {
  keyId: string;
  isPrehashed: boolean;
  bytes: Buffer;
  trustedComment: string;
  /** Signature over `bytes` and the trusted comment. */
  globalBytes: Buffer;
}

function parseSignature(text: string): Signature | undefined {
  const [untrusted = '', line = '', trusted = '', global = ''] = signatureLines(text).split(/\r?\n/);
  const bytes = decodeBase64(line, algorithmBytes + keyIdBytes + signatureBytes);
  const globalBytes = decodeBase64(global, signatureBytes);
  const trustedPrefix = 'trusted comment: ';
  if (!untrusted.startsWith('untrusted comment:') || !trusted.startsWith(trustedPrefix)) return undefined;
  if (bytes === undefined || globalBytes === undefined) return undefined;
  const algorithm = bytes.toString('latin1', 0, algorithmBytes);
  if (algorithm !== 'Ed' && algorithm !== 'ED') return undefined;
  return {
    keyId: keyIdOf(bytes),
    isPrehashed: algorithm === 'ED',
    bytes: bytes.subarray(algorithmBytes + keyIdBytes),
    trustedComment: trusted.slice(trustedPrefix.length),
    globalBytes,
  };
}

/** The key id is stored in little-endian order. */
function keyIdOf(bytes: Buffer): string {
  const keyId = Buffer.from(bytes.subarray(algorithmBytes, algorithmBytes + keyIdBytes));
  return keyId.reverse().toString('hex').toUpperCase();
}

function decodeBase64(text: string, length: number): Buffer | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === length ? bytes : undefined;
}
