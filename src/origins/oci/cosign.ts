import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { errorMessage } from '../../errors.ts';
import { members, parsedJSON, textOf } from './json-members.ts';

/** The media type of a payload, and the annotation that holds its signature. cosign: specs/SIGNATURE_SPEC.md */
export const payloadType = 'application/vnd.dev.cosign.simplesigning.v1+json';
export const signatureAnnotation = 'dev.cosignproject.cosign/signature';

/** The media type of a bundle, and the types of the statement in it that cosign 3 signs for an artifact. */
export const bundleType = 'application/vnd.dev.sigstore.bundle.v0.3+json';
const statementPayloadType = 'application/vnd.in-toto+json';
const statementType = 'https://in-toto.io/Statement/v1';
const signPredicateType = 'https://sigstore.dev/cosign/sign/v1';

/** A signature as stored with the manifests that it covers. */
export interface CosignSignature {
  /** The signed text, in base64. */
  payload: string;
  /** ECDSA signature in DER, in base64. */
  signature: string;
  /** The type of the payload in a DSSE envelope. Only set for a signature from a bundle. */
  payloadType?: string;
}

/** Returns the tag under which the signatures of a digest are stored. */
export const signatureTag = (digest: string): string => `${digest.replace(':', '-')}.sig`;

/** PEM files are much smaller. */
const maxKeyBytes = 16 * 1024;

/**
 * Reads public keys from their files each time, because the files may be replaced. Rejects with an OriginFailure if one
 * is unusable.
 */
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

/** Returns undefined for other text, and for a private key, from which Node would derive a public one. */
function publicKeyOf(pem: string): KeyObject | undefined {
  if (!pem.includes('-----BEGIN PUBLIC KEY-----')) return undefined;
  try {
    return createPublicKey(pem);
  } catch {
    return undefined;
  }
}

/** Returns the signature in a bundle's envelope, or undefined if the bundle has no envelope. */
export function signatureOfBundle(bundle: Uint8Array): CosignSignature | undefined {
  const envelope = members(members(parsedJSON(bundle)).get('dsseEnvelope'));
  const signatures: unknown = envelope.get('signatures');
  // The envelope of a bundle has exactly one signature.
  const signature = Array.isArray(signatures) ? textOf(members(signatures[0]), 'sig') : '';
  const [payload, type] = [textOf(envelope, 'payload'), textOf(envelope, 'payloadType')];
  return [payload, type, signature].includes('') ? undefined : { payload, signature, payloadType: type };
}

/** True if the bundle of `cosign sign-blob` has a signature of one of the keys for this content. */
export function isSignedBlob(content: Uint8Array, bundle: Uint8Array, keys: readonly KeyObject[]): boolean {
  const signature = Buffer.from(
    textOf(members(members(parsedJSON(bundle)).get('messageSignature')), 'signature'),
    'base64',
  );
  return keys.some((key) => verify('sha256', content, key, signature));
}

/** True if one of the keys signed the digest of a manifest. */
export function isSigned(digest: string, signed: CosignSignature, keys: readonly KeyObject[]): boolean {
  const payload = Buffer.from(signed.payload, 'base64');
  const signature = Buffer.from(signed.signature, 'base64');
  const text = signed.payloadType === undefined ? payload : preAuthEncoding(signed.payloadType, payload);
  if (!keys.some((key) => verify('sha256', text, key, signature))) return false;
  // Other texts signed with this key must not pass for the signature of an artifact.
  if (signed.payloadType === undefined) return signedByPayload(payload) === digest;
  return signed.payloadType === statementPayloadType && signedByStatement(payload).includes(digest);
}

/** Returns the bytes that a DSSE signature signs. dsse: protocol.md, PAE */
function preAuthEncoding(type: string, payload: Buffer): Buffer {
  const start = `DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `;
  return Buffer.concat([Buffer.from(start), payload]);
}

/** Returns the digest that a cosign payload refers to, or '' for other text. */
function signedByPayload(payload: Uint8Array): string {
  const critical = members(members(parsedJSON(payload)).get('critical'));
  if (textOf(critical, 'type') !== 'cosign container image signature') return '';
  return textOf(members(critical.get('image')), 'docker-manifest-digest');
}

/** Returns the digests that a statement signs, or [] for an attestation. */
function signedByStatement(payload: Uint8Array): string[] {
  const statement = members(parsedJSON(payload));
  const subjects: unknown = statement.get('subject');
  const isSignature =
    textOf(statement, '_type') === statementType && textOf(statement, 'predicateType') === signPredicateType;
  if (!isSignature || !Array.isArray(subjects)) return [];
  return subjects.map((subject) => `sha256:${textOf(members(members(subject).get('digest')), 'sha256')}`);
}

/** Parses a stored signature. Returns undefined for other text. */
export function parseKept(text: string): CosignSignature | undefined {
  const kept = members(parsedJSON(Buffer.from(text)));
  const [payload, signature] = [textOf(kept, 'payload'), textOf(kept, 'signature')];
  if (payload === '' || signature === '') return undefined;
  const type = textOf(kept, 'payloadType');
  return { payload, signature, ...(type !== '' && { payloadType: type }) };
}
