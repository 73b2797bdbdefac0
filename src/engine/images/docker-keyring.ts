/** Key of the fallback credentials for Docker Hub. */
const defaultRegistryKey = 'index.docker.io';

/**
 * Returns the credentials for a repository such as `docker.io/library/busybox`, longest path first. kubelet:
 * credentialprovider/keyring.go BasicDockerKeyring
 */
export function lookUpCredentials<T>(configs: readonly ReadonlyMap<string, T>[], repository: string): T[] {
  const byKey = new Map<string, T[]>();
  for (const [location, credentials] of configs.flatMap((config) => [...config])) {
    const key = keyOf(location);
    byKey.set(key, [...(byKey.get(key) ?? []), credentials]);
  }
  const keys = [...byKey.keys()].sort().reverse();
  const found = keys.filter((key) => matchesRepository(key, repository)).flatMap((key) => byKey.get(key) ?? []);
  if (found.length > 0 || !isOfDefaultRegistry(repository)) return found;
  return byKey.get(defaultRegistryKey) ?? [];
}

/**
 * True if a pattern such as `*.example.com:5000/team` fits a repository. Each part of the host is a glob, the port must
 * be equal, and the path is a prefix. kubelet: credentialprovider/keyring.go URLsMatch
 */
export function matchesRepository(pattern: string, repository: string): boolean {
  const wanted = splitLocation(pattern);
  const target = splitLocation(repository);
  if (wanted.port !== target.port || wanted.labels.length !== target.labels.length) return false;
  if (!target.path.startsWith(wanted.path)) return false;
  return wanted.labels.every((label, index) => matchesGlob(label, target.labels[index] ?? ''));
}

/** `/v1/` and `/v2/` at the start of a path belong to the registry's API, not to a name. */
function keyOf(location: string): string {
  const { host, path } = splitURL(location);
  const effective = path.replace(/^\/v[12]\//, '/');
  return effective === '/' ? host : host + effective;
}

function splitLocation(location: string): { labels: string[]; port: string; path: string } {
  const { host, path } = splitURL(location);
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*)):([^:]*)$/.exec(host) ?? [];
  return { labels: (bracketed ?? plain ?? host).split('.'), port: port ?? '', path };
}

/** Does not use the URL class, because that rejects globs in hosts. */
function splitURL(location: string): { host: string; path: string } {
  const [, authority = '', path = ''] = /^(?:https?:\/\/)?([^/?#]*)([^?#]*)/.exec(location) ?? [];
  return { host: authority.slice(authority.lastIndexOf('@') + 1), path };
}

/** kubelet: credentialprovider/keyring.go isDefaultRegistryMatch */
function isOfDefaultRegistry(repository: string): boolean {
  const [host = ''] = repository.split('/');
  return host === 'docker.io' || host === defaultRegistryKey || !/[.:]/.test(host);
}

/**
 * True if the text matches the pattern. `*` matches any characters, `?` one, `[a-z]` and `[^a-z]` one of a class, and
 * `\` escapes a character. A broken pattern matches nothing. Go: path/filepath Match, for one path element
 */
function matchesGlob(pattern: string, text: string): boolean {
  const source = pattern.replaceAll(
    /\[(\^?)((?:[^\]\\]|\\.)+)\]|\\(.)|[^]/g,
    (token: string, not?: string, members?: string, escaped?: string) => {
      if (members !== undefined) return `[${not ?? ''}${members}]`;
      if (escaped !== undefined) return literal(escaped);
      if (token === '*') return '.*';
      return token === '?' ? '.' : token === '[' ? neverMatches : literal(token);
    },
  );
  try {
    return new RegExp(`^${source}$`, 's').test(text);
  } catch {
    // The pattern is broken, for example a reversed range.
    return false;
  }
}

const neverMatches = '(?!)';

const literal = (character: string): string => character.replace(/[$()*+./?[\\\]^{|}-]/, String.raw`\$&`);
