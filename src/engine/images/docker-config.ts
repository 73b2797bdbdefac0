import { decodeBase64 } from '../../api/text/base64.ts';

/** Credentials for a registry. They are only used in pull requests. */
export interface RegistryCredentials {
  username: string;
  password: string;
  /** Replaces the password at registries that issue tokens. May be empty. */
  identityToken: string;
}

/** Credentials by registry, or by registry and path prefix, as written. */
export type DockerConfig = ReadonlyMap<string, RegistryCredentials>;

export type JSONObject = ReadonlyMap<string, unknown>;

/**
 * Parses `.docker/config.json` or a Secret of type kubernetes.io/dockerconfigjson. Throws an error that names the field
 * but not its value. kubelet: credentialprovider/config.go readDockerConfigJSONFileFromBytes
 */
export function parseDockerConfigJSON(text: string): DockerConfig {
  return readEntries(objectAt(parseJSON(text), 'auths'), 'auths');
}

/**
 * Parses the older `.dockercfg` or a Secret of type kubernetes.io/dockercfg. Its entries have no `auths` around them.
 */
export function parseDockercfg(text: string): DockerConfig {
  return readEntries(parseJSON(text), '');
}

/** Replaces Node's parse error, because that would quote the text. */
function parseJSON(text: string): JSONObject {
  try {
    return asObject(JSON.parse(text), '');
  } catch {
    throw new Error('is not a JSON object');
  }
}

function readEntries(entries: JSONObject, path: string): DockerConfig {
  const config = new Map<string, RegistryCredentials>();
  for (const [registry, entry] of entries) {
    const credentials = readEntry(asObject(entry, `${path}["${registry}"]`), `${path}["${registry}"]`);
    // docker leaves an empty entry for credentials in a separate store.
    if (Object.values(credentials).some((value) => value !== '')) config.set(registry, credentials);
  }
  return config;
}

function readEntry(entry: JSONObject, path: string): RegistryCredentials {
  const auth = textAt(entry, 'auth', path);
  const named = { username: textAt(entry, 'username', path), password: textAt(entry, 'password', path) };
  return {
    ...(auth === '' ? named : decodeAuth(auth, `${path}.auth`)),
    identityToken: textAt(entry, 'identitytoken', path),
  };
}

/** kubelet: credentialprovider/config.go decodeDockerConfigFieldAuth, which also accepts base64 without padding */
function decodeAuth(auth: string, path: string): { username: string; password: string } {
  const compact = auth.replaceAll(/\s/g, '');
  const missing = compact.endsWith('=') ? 0 : (4 - (compact.length % 4)) % 4;
  const bytes = decodeBase64(compact + '='.repeat(missing));
  const text = bytes === undefined ? '' : new TextDecoder().decode(bytes);
  const colon = text.indexOf(':');
  if (colon < 0) throw new Error(`${path} is not the base64 of user:password`);
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

function objectAt(object: JSONObject, name: string): JSONObject {
  return asObject(object.get(name), name);
}

/** A missing or null value counts as empty, as in Go. */
export function asObject(value: unknown, path: string): JSONObject {
  if (value === undefined || value === null) return new Map();
  if (typeof value === 'object' && !Array.isArray(value)) return new Map(Object.entries(value));
  throw new Error(`${path} is not an object`);
}

function textAt(object: JSONObject, name: string, path: string): string {
  const value = object.get(name) ?? '';
  if (typeof value === 'string') return value;
  throw new Error(`${path}.${name} is not a string`);
}
