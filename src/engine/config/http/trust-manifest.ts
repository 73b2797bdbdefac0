import { HTTPFailure } from './http-failure.ts';
import { type MinisignPublicKey, verifyMinisign } from './minisign.ts';

/** By what a body is told from one that somebody put in its place. Empty lists: by the server alone. */
export interface ManifestTrust {
  /** SHA-256 digests of the bodies to be believed, in hex. */
  sha256: readonly string[];
  /** Keys one of which has to have signed a body. */
  publicKeys: readonly MinisignPublicKey[];
}

/** What there is to believe a body by. */
export interface ManifestEvidence {
  /** Its SHA-256, in hex. */
  digest: string;
  /** Text of its `.minisig`, if it has to have one. */
  signature: string | undefined;
  /** When the body that was taken last was signed, in seconds since the epoch; undefined: nobody knows. */
  lastSignedAtSeconds: number | undefined;
}

/**
 * Throws an HTTPFailure for a body that is not to be believed: of another digest, not signed, or signed before the one
 * that was taken last, which anybody can serve again. Returns when it was signed, in seconds since the epoch, if it
 * tells.
 */
export function trustManifest(
  body: Uint8Array,
  { digest, signature, lastSignedAtSeconds }: ManifestEvidence,
  { sha256, publicKeys }: ManifestTrust,
): number | undefined {
  if (sha256.length > 0 && !sha256.includes(digest)) {
    throw new HTTPFailure('is no manifest', `the SHA-256 of the body is ${digest}, which is not to be believed`, {
      hint: 'If this body is the right one, give that to --manifest-url-sha256.',
    });
  }
  if (publicKeys.length === 0) return undefined;
  const verification = verifyMinisign(body, signature ?? '', publicKeys);
  if ('unsignedBecause' in verification) {
    throw new HTTPFailure('is no manifest', `the body is not to be believed: ${verification.unsignedBecause}`, {
      hint: 'Sign it with minisign -S and the key of --manifest-url-public-key, and put the .minisig beside it.',
    });
  }
  const { signedAtSeconds } = verification;
  if (lastSignedAtSeconds !== undefined) refuseOlder(signedAtSeconds, lastSignedAtSeconds);
  return signedAtSeconds;
}

function refuseOlder(signedAtSeconds: number | undefined, lastSignedAtSeconds: number): void {
  if (signedAtSeconds === undefined) {
    throw new HTTPFailure('is no manifest', 'the body is not to be believed: its signature does not tell its time', {
      hint: 'Sign it with minisign -S without -t, as the one before was: it may be an old one.',
    });
  }
  if (signedAtSeconds >= lastSignedAtSeconds) return;
  const [signed, last] = [signedAtSeconds, lastSignedAtSeconds].map((at) => new Date(at * 1000).toISOString());
  throw new HTTPFailure(
    'is no manifest',
    `the body is not to be believed: it was signed at ${signed ?? ''}, before the one that was taken last, at ${last ?? ''}`,
    { hint: 'Somebody may serve an old manifest again. To go back to it, sign it again.' },
  );
}
