import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import type { BodyEvidence } from '../../engine/config/polled/manifest-origin.ts';
import { type MinisignPublicKey, verifyMinisign } from './minisign.ts';

/** The digests and keys that make a body trusted. If both lists are empty, every body from the server is trusted. */
export interface ManifestTrust {
  /** SHA-256 digests of the trusted bodies, in hex. */
  sha256: readonly string[];
  /** One of these keys must have signed the body. */
  publicKeys: readonly MinisignPublicKey[];
}

/**
 * Throws an OriginFailure if the body has another digest or no valid signature, or if it was signed before the last
 * body that was used: anybody can serve an old body again. Returns the time of the signature in seconds since the
 * epoch, or undefined if the signature has none.
 */
export function trustManifest(
  body: Uint8Array,
  { digest, signature, lastSignedAtSeconds }: BodyEvidence,
  { sha256, publicKeys }: ManifestTrust,
): number | undefined {
  if (sha256.length > 0 && !sha256.includes(digest)) {
    const hint = 'If this body is correct, add its SHA-256 to --manifest-url-sha256.';
    throw new OriginFailure('is no manifest', `the SHA-256 of the body is ${digest}, which is not trusted`, hint);
  }
  if (publicKeys.length === 0) return undefined;
  const verification = verifyMinisign(body, signature ?? '', publicKeys);
  if ('unsignedBecause' in verification) {
    const hint = 'Sign it with minisign -S and the key of --manifest-url-public-key, and put the .minisig next to it.';
    throw untrusted(verification.unsignedBecause, hint);
  }
  const { signedAtSeconds } = verification;
  if (lastSignedAtSeconds === undefined) return signedAtSeconds;
  if (signedAtSeconds === undefined) {
    const hint = 'Sign it with minisign -S without -t, as the one before. Without a time it may be an old one.';
    throw untrusted('its signature has no time', hint);
  }
  if (signedAtSeconds < lastSignedAtSeconds) {
    const because = `it was signed at ${timeOf(signedAtSeconds)}, before the last used one, at ${timeOf(lastSignedAtSeconds)}`;
    throw untrusted(because, 'Somebody may serve an old manifest again. To use it again, sign it again.');
  }
  return signedAtSeconds;
}

const timeOf = (seconds: number): string => new Date(seconds * 1000).toISOString();

function untrusted(because: string, hint: string): OriginFailure {
  return new OriginFailure('is no manifest', `the body is not trusted: ${because}`, hint);
}
