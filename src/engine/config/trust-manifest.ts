import { HTTPFailure } from './http-failure.ts';
import { type MinisignPublicKey, unsignedBecause } from './minisign.ts';

/** By what a body is told from one that somebody put in its place. Empty lists: by the server alone. */
export interface ManifestTrust {
  /** SHA-256 digests of the bodies to be believed, in hex. */
  sha256: readonly string[];
  /** Keys one of which has to have signed a body. */
  publicKeys: readonly MinisignPublicKey[];
}

/** Throws an HTTPFailure for a body that is not to be believed. `signature` is the text of its `.minisig`, if it has to have one. */
export function trustManifest(
  body: Uint8Array,
  digest: string,
  signature: string | undefined,
  { sha256, publicKeys }: ManifestTrust,
): void {
  if (sha256.length > 0 && !sha256.includes(digest)) {
    throw new HTTPFailure('is no manifest', `the SHA-256 of the body is ${digest}, which is not to be believed`, {
      hint: 'If this body is the right one, give that to --manifest-url-sha256.',
    });
  }
  if (publicKeys.length === 0) return;
  const reason = unsignedBecause(body, signature ?? '', publicKeys);
  if (reason === undefined) return;
  throw new HTTPFailure('is no manifest', `the body is not to be believed: ${reason}`, {
    hint: 'Sign it with minisign -S and the key of --manifest-url-public-key, and put the .minisig beside it.',
  });
}
