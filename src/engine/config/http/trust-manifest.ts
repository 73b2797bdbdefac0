import { HTTPFailure } from './http-failure.ts';
import { type MinisignPublicKey, verifyMinisign } from './minisign.ts';

/** Accepted digests and keys of a body. With empty lists every body of the server is trusted. */
export interface ManifestTrust {
  /** SHA-256 digests of the trusted bodies, in hex. */
  sha256: readonly string[];
  /** One of these keys must have signed the body. */
  publicKeys: readonly MinisignPublicKey[];
}

/** Evidence for a body. */
export interface ManifestEvidence {
  /** Its SHA-256, in hex. */
  digest: string;
  /** Text of its `.minisig`; undefined if none is required. */
  signature: string | undefined;
  /** Time of the signature of the last used body, in seconds since the epoch; undefined if unknown. */
  lastSignedAtSeconds: number | undefined;
}

/**
 * Throws an HTTPFailure for a body with another digest or without a valid signature. Throws one also if it was signed
 * before the last used body, because anybody can serve an old body again. Returns the time of the signature in seconds
 * since the epoch, or undefined if the signature has none.
 */
export function trustManifest(
  body: Uint8Array,
  { digest, signature, lastSignedAtSeconds }: ManifestEvidence,
  { sha256, publicKeys }: ManifestTrust,
): number | undefined {
  if (sha256.length > 0 && !sha256.includes(digest)) {
    throw new HTTPFailure('is no manifest', `the SHA-256 of the body is ${digest}, which is not trusted`, {
      hint: 'If this body is correct, add its SHA-256 to --manifest-url-sha256.',
    });
  }
  if (publicKeys.length === 0) return undefined;
  const verification = verifyMinisign(body, signature ?? '', publicKeys);
  if ('unsignedBecause' in verification) {
    throw new HTTPFailure('is no manifest', `the body is not trusted: ${verification.unsignedBecause}`, {
      hint: 'Sign it with minisign -S and the key of --manifest-url-public-key, and put the .minisig beside it.',
    });
  }
  const { signedAtSeconds } = verification;
  if (lastSignedAtSeconds !== undefined) refuseOlder(signedAtSeconds, lastSignedAtSeconds);
  return signedAtSeconds;
}

function refuseOlder(signedAtSeconds: number | undefined, lastSignedAtSeconds: number): void {
  if (signedAtSeconds === undefined) {
    throw new HTTPFailure('is no manifest', 'the body is not trusted: its signature has no time', {
      hint: 'Sign it with minisign -S without -t, as the one before. Without a time it may be an old one.',
    });
  }
  if (signedAtSeconds >= lastSignedAtSeconds) return;
  const [signed, last] = [signedAtSeconds, lastSignedAtSeconds].map((at) => new Date(at * 1000).toISOString());
  throw new HTTPFailure(
    'is no manifest',
    `the body is not trusted: it was signed at ${signed ?? ''}, before the last used one, at ${last ?? ''}`,
    { hint: 'Somebody may serve an old manifest again. To use it again, sign it again.' },
  );
}
