import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';

/** An Ed25519 key that signs manifests, as `minisign -G` makes it. */
export interface MinisignPublicKey {
  /** 16 hex digits, as minisign prints it. */
  keyId: string;
  key: KeyObject;
}

/** Undefined for a text that is no public key of minisign: the base64 line of `minisign.pub`, 56 characters. */
export function parseMinisignPublicKey(text: string): MinisignPublicKey | undefined {
  const bytes = decodeBase64(text.trim(), algorithmBytes + keyIdBytes + publicKeyBytes);
  if (bytes?.toString('latin1', 0, algorithmBytes) !== 'Ed') return undefined;
  const x = bytes.subarray(algorithmBytes + keyIdBytes).toString('base64url');
  return { keyId: keyIdOf(bytes), key: createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }) };
}

/** What came of the check of a signature. */
export type Verification =
  /** It is not signed by one of the keys. */
  | { unsignedBecause: string }
  /** It is. `signedAtSeconds`: since the epoch, as the trusted comment says; undefined: that says something else. */
  | { signedAtSeconds: number | undefined };

/**
 * Checks that these bytes are signed by one of the keys. Takes the text of a `.minisig` file, of the legacy form (Ed,
 * over the content) and of the prehashed one (ED, over its BLAKE2b-512 hash). The trusted comment has to be the one
 * that was signed.
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
  if (!verify(null, signed, key, bytes)) return { unsignedBecause: 'the signature is of another content' };
  const commented = Buffer.concat([bytes, Buffer.from(trustedComment)]);
  if (!verify(null, commented, key, globalBytes)) {
    return { unsignedBecause: 'the trusted comment of the signature was changed' };
  }
  // What minisign writes unless it is given a comment.
  const seconds = /^timestamp:([0-9]{1,12})(?=\s|$)/.exec(trustedComment)?.[1];
  return { signedAtSeconds: seconds === undefined ? undefined : Number(seconds) };
}

const algorithmBytes = 2;
const keyIdBytes = 8;
const publicKeyBytes = 32;
const signatureBytes = 64;

interface Signature {
  keyId: string;
  isPrehashed: boolean;
  bytes: Buffer;
  trustedComment: string;
  /** Over the signature and the trusted comment. */
  globalBytes: Buffer;
}

function parseSignature(text: string): Signature | undefined {
  const [untrusted = '', line = '', trusted = '', global = ''] = text.split(/\r?\n/);
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

/** The number is stored with its last byte first. */
function keyIdOf(bytes: Buffer): string {
  const keyId = Buffer.from(bytes.subarray(algorithmBytes, algorithmBytes + keyIdBytes));
  return keyId.reverse().toString('hex').toUpperCase();
}

function decodeBase64(text: string, length: number): Buffer | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === length ? bytes : undefined;
}
