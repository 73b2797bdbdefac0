import { decodeBase64 } from '../../api/text/base64.ts';

/** What is said to a registry. It goes into pull requests and nowhere else. */
export interface RegistryCredentials {
  username: string;
  password: string;
  /** Given in place of a password by registries that hand out tokens; empty: none. */
  identityToken: string;
}

/** Credentials by registry, or by registry and the beginning of a path, as they were written. */
export type DockerConfig = ReadonlyMap<string, RegistryCredentials>;

type JSONObject = ReadonlyMap<string, unknown>;

/**
 * Reads `.docker/config.json`, or a Secret of type kubernetes.io/dockerconfigjson. Throws an error that names the field,
 * and nothing of its value. kubelet: credentialprovider/config.go readDockerConfigJSONFileFromBytes
 */
export function parseDockerConfigJSON(text: string): DockerConfig {
  return readEntries(objectAt(parseJSON(text), 'auths'), 'auths');
}

/** Reads the older `.dockercfg`, or a Secret of type kubernetes.io/dockercfg: the same without `auths` around it. */
export function parseDockercfg(text: string): DockerConfig {
  return readEntries(parseJSON(text), '');
}

/** The parser of Node would quote the text. */
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
    // docker leaves an empty entry for what is in a credential store of its own.
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

/** kubelet: credentialprovider/config.go decodeDockerConfigFieldAuth, which takes base64 without padding too */
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

/** Absent and null are empty, as in Go. */
function asObject(value: unknown, path: string): JSONObject {
  if (value === undefined || value === null) return new Map();
  if (typeof value === 'object' && !Array.isArray(value)) return new Map(Object.entries(value));
  throw new Error(`${path} is not an object`);
}

function textAt(object: JSONObject, name: string, path: string): string {
  const value = object.get(name) ?? '';
  if (typeof value === 'string') return value;
  throw new Error(`${path}.${name} is not a string`);
}
