import { parseDuration } from '../../api/values/duration.ts';
import { asObject, type DockerConfig, type JSONObject, type RegistryCredentials } from './docker-config.ts';

/** Which images an answer is valid for. */
export type CacheKeyType = 'Image' | 'Registry' | 'Global';

/** Answer of a credential provider. */
export interface CredentialProviderResponse {
  cacheKeyType: CacheKeyType;
  /** Milliseconds. Undefined if the provider's configuration decides. */
  cacheDurationMs: number | undefined;
  credentials: DockerConfig;
}

/**
 * Parses the answer of a credential provider. Throws an error that does not quote the answer. kubelet: k8s.io/kubelet
 * credentialprovider/v1 CredentialProviderResponse
 */
export function parseCredentialProviderResponse(text: string, apiVersion: string): CredentialProviderResponse {
  const response = parseObject(text);
  const kind = response.get('kind');
  if (kind !== 'CredentialProviderResponse') throw new Error('the answer is not a CredentialProviderResponse');
  if (response.get('apiVersion') !== apiVersion) throw new Error(`the apiVersion of the answer is not ${apiVersion}`);
  const cacheKeyType = response.get('cacheKeyType');
  if (cacheKeyType !== 'Image' && cacheKeyType !== 'Registry' && cacheKeyType !== 'Global') {
    throw new Error('the cacheKeyType of the answer is not Image, Registry or Global');
  }
  return {
    cacheKeyType,
    cacheDurationMs: readDuration(response.get('cacheDuration')),
    credentials: new Map([...members(response.get('auth'))].map(([key, auth]) => [key, readAuth(auth)])),
  };
}

/** Replaces Node's parse error, because that would quote the text. */
function parseObject(text: string): JSONObject {
  try {
    return members(JSON.parse(text));
  } catch {
    throw new Error('the answer is not a JSON object');
  }
}

function readAuth(auth: unknown): RegistryCredentials {
  const { username = '', password = '' } = Object.fromEntries(members(auth));
  if (typeof username !== 'string' || typeof password !== 'string') {
    throw new Error('a username or password of the answer is not a string');
  }
  return { username, password, identityToken: '' };
}

function readDuration(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  const nanoseconds = typeof value === 'string' ? parseDuration(value) : undefined;
  if (nanoseconds === undefined) throw new Error('the cacheDuration of the answer is not a duration');
  return Number(nanoseconds / 1_000_000n);
}

const members = (value: unknown): JSONObject => asObject(value, 'a part of the answer');
