import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import { readRegularFile } from '../../engine/host/regular-file.ts';
import { errorMessage } from '../../errors.ts';
import { members, parsedJSON, textOf } from './json-members.ts';

/** The media type of a payload, and the annotation with its signature. cosign: specs/SIGNATURE_SPEC.md */
export const payloadType = 'application/vnd.dev.cosign.simplesigning.v1+json';
export const signatureAnnotation = 'dev.cosignproject.cosign/signature';

/** A signature as it is kept with the manifests that it is for. */
export interface CosignSignature {
  /** The signed text, in base64. */
  payload: string;
  /** ECDSA in DER, in base64. */
  signature: string;
}

/** The tag that has the signatures of a digest. */
export const signatureTag = (digest: string): string => `${digest.replace(':', '-')}.sig`;

/** A PEM file is much smaller. */
const maxKeyBytes = 16 * 1024;

/** Reads public keys anew, because their files may be replaced. Rejects with an OriginFailure if one is unusable. */
export async function readCosignKeys(paths: readonly string[]): Promise<KeyObject[]> {
  return Promise.all(paths.map(readKey));
}

async function readKey(path: string): Promise<KeyObject> {
  const unusable = (because: string): OriginFailure =>
    new OriginFailure(
      'refused',
      because,
      'Name the file cosign.pub of cosign generate-key-pair: --manifest-url-cosign-key.',
    );
  let pem: Buffer;
  try {
    pem = await readRegularFile(path, maxKeyBytes, { followLinks: true });
  } catch (error) {
    throw unusable(`the public key cannot be read: ${errorMessage(error)}`);
  }
  const key = publicKeyOf(pem.toString('utf8'));
  if (key?.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key;
  throw unusable(`${path} contains no public key of ECDSA P-256`);
}

/** Returns undefined for another text, and for a private key, from which Node would derive a public one. */
function publicKeyOf(pem: string): KeyObject | undefined {
  if (!pem.includes('-----BEGIN PUBLIC KEY-----')) return undefined;
  try {
    return createPublicKey(pem);
  } catch {
    return undefined;
  }
}

/** True if one of the keys signed the digest of a manifest. */
export function isSigned(digest: string, signed: CosignSignature, keys: readonly KeyObject[]): boolean {
  const payload = Buffer.from(signed.payload, 'base64');
  const signature = Buffer.from(signed.signature, 'base64');
  if (!keys.some((key) => verify('sha256', payload, key, signature))) return false;
  const critical = members(members(parsedJSON(payload)).get('critical'));
  // Any other signed text of the key must not pass for the signature of an artifact.
  if (textOf(critical, 'type') !== 'cosign container image signature') return false;
  return textOf(members(critical.get('image')), 'docker-manifest-digest') === digest;
}

/** Parses a kept signature. Returns undefined for other text. */
export function parseKept(text: string): CosignSignature | undefined {
  const kept = members(parsedJSON(Buffer.from(text)));
  const [payload, signature] = [textOf(kept, 'payload'), textOf(kept, 'signature')];
  return payload === '' || signature === '' ? undefined : { payload, signature };
}
