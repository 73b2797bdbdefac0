import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { RegistryCredentials } from './docker-config.ts';

/** A Secret whose credentials pulled an image, or that a pod has. Never contains the credentials. */
export interface ImagePullSecret {
  /** Empty for a Secret from a manifest, which its name identifies. */
  uid: string;
  namespace: string;
  name: string;
  credentialHash: string;
}

/** Who may use an image under one name. Nobody without another pull if there are no Secrets either. */
export interface ImagePullCredentials {
  kubernetesSecrets: readonly ImagePullSecret[];
  /** True if it was pulled without credentials, or with those of the node. */
  nodePodsAccessible: boolean;
}

/** What is known about the pulls of one image. kubelet: kubelet.config.k8s.io/v1beta1 ImagePulledRecord */
export interface ImagePulledRecord {
  /** The image's id in the runtime. */
  imageRef: string;
  /** By repository, such as `docker.io/library/busybox`. */
  credentialMapping: ReadonlyMap<string, ImagePullCredentials>;
}

/** Far more Secrets than pods of one node have. */
const maxSecrets = 100;

/** kubelet: credentialprovider/keyring.go hashAuthConfig */
export function credentialHash({ username, password, identityToken }: RegistryCredentials): string {
  const written = Object.entries({ username, password, identitytoken: identityToken }).filter(
    ([, text]) => text !== '',
  );
  return sha256(JSON.stringify(Object.fromEntries(written)));
}

/** Returns the file name for an image that is pulled, or for a pulled image's id. kubelet: cacheFilename */
export const recordFileName = (imageOrRef: string): string => `sha256-${sha256(imageOrRef)}`;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Returns the record after a pull under this name. Returns the same record if nothing changes. */
export function withCredentials(
  record: ImagePulledRecord,
  repository: string,
  { nodePodsAccessible, kubernetesSecrets }: ImagePullCredentials,
): ImagePulledRecord {
  const known = record.credentialMapping.get(repository);
  const isForAll = nodePodsAccessible || known?.nodePodsAccessible === true;
  const secrets = isForAll ? [] : mergedSecrets(known?.kubernetesSecrets ?? [], kubernetesSecrets);
  const merged: ImagePullCredentials = { kubernetesSecrets: secrets, nodePodsAccessible: isForAll };
  if (isDeepStrictEqual(known, merged)) return record;
  return { ...record, credentialMapping: new Map([...record.credentialMapping, [repository, merged]]) };
}

/** A Secret has one hash: that of its newest content. */
function mergedSecrets(known: readonly ImagePullSecret[], added: readonly ImagePullSecret[]): ImagePullSecret[] {
  const others = known.filter((secret) => !added.some((one) => isSameSecret(one, secret)));
  return [...others, ...added].slice(-maxSecrets);
}

/** True if both are the same Secret. Its content may differ, which `credentialHash` shows. */
export const isSameSecret = (a: ImagePullSecret, b: ImagePullSecret): boolean =>
  a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;

const apiVersion = 'kubelet.config.k8s.io/v1beta1';
/** v1alpha1 has the same content. */
const apiVersions: readonly unknown[] = [apiVersion, 'kubelet.config.k8s.io/v1alpha1'];

export function formatIntent(image: string): string {
  return JSON.stringify({ kind: 'ImagePullIntent', apiVersion, image });
}

/** Returns undefined for content that is not an intent. Throws a SyntaxError if it is not JSON. */
export function parseIntent(bytes: Buffer): string | undefined {
  const { image } = objectOfKind('ImagePullIntent', bytes);
  return typeof image === 'string' ? image : undefined;
}

/** `now`: milliseconds since the epoch. */
export function formatRecord({ imageRef, credentialMapping }: ImagePulledRecord, now: number): string {
  const written = [...credentialMapping].map(([repository, { kubernetesSecrets, nodePodsAccessible }]) => [
    repository,
    { ...(kubernetesSecrets.length > 0 && { kubernetesSecrets }), ...(nodePodsAccessible && { nodePodsAccessible }) },
  ]);
  return JSON.stringify({
    kind: 'ImagePulledRecord',
    apiVersion,
    lastUpdatedTime: new Date(now).toISOString().replace(/\.\d+Z$/, 'Z'),
    imageRef,
    credentialMapping: Object.fromEntries(written) as unknown,
  });
}

/** Returns undefined for content that is not a record. Throws a SyntaxError if it is not JSON. */
export function parseRecord(bytes: Buffer): ImagePulledRecord | undefined {
  const { imageRef, credentialMapping } = objectOfKind('ImagePulledRecord', bytes);
  if (typeof imageRef !== 'string') return undefined;
  const mapping = Object.entries(Object(credentialMapping) as object).map(
    ([repository, credentials]): [string, ImagePullCredentials] => [repository, readCredentials(credentials)],
  );
  return { imageRef, credentialMapping: new Map(mapping) };
}

/** Content that cannot be understood gives access to nobody. */
function readCredentials(value: unknown): ImagePullCredentials {
  const { kubernetesSecrets, nodePodsAccessible } = Object(value) as Record<keyof ImagePullCredentials, unknown>;
  const secrets: unknown[] = Array.isArray(kubernetesSecrets) ? kubernetesSecrets : [];
  return { kubernetesSecrets: secrets.filter(isSecret), nodePodsAccessible: nodePodsAccessible === true };
}

function isSecret(value: unknown): value is ImagePullSecret {
  const { uid, namespace, name, credentialHash: hash } = Object(value) as Record<keyof ImagePullSecret, unknown>;
  return [uid, namespace, name, hash].every((text) => typeof text === 'string');
}

function objectOfKind(expected: string, bytes: Buffer): Record<string, unknown> {
  const value = Object(JSON.parse(bytes.toString('utf8'))) as Record<string, unknown>;
  return value['kind'] === expected && apiVersions.includes(value['apiVersion']) ? value : {};
}
