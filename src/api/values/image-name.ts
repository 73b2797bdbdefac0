/** The parts of an image name. */
export interface ImageName {
  /** With registry and prefix, as in `docker.io/library/busybox`. */
  repository: string;
  /** `latest` when neither tag nor digest was written; empty when only a digest was. */
  tag: string;
  /** As in `sha256:…`; empty when none was written. */
  digest: string;
}

/**
 * Parses an image name. Returns undefined if it is not valid.
 *
 * kubelet: pkg/util/parsers/parsers.go ParseImageName
 */
export function parseImageName(image: string): ImageName | undefined {
  if (image.length > maxNameLength) return undefined;
  // The runtime would mistake a bare 64-digit hexadecimal string for an image id.
  if (/^[a-f0-9]{64}$/.test(image)) return undefined;
  const match = referencePattern.exec(withRegistry(image));
  if (!match) return undefined;
  const [, repository = '', path = '', tag = '', digest = ''] = match;
  if (path.length > maxPathLength || (digest !== '' && !digestPattern.test(digest))) return undefined;
  return { repository, tag: tag === '' && digest === '' ? 'latest' : tag, digest };
}

/**
 * The reference to pass to the runtime: as written, plus the default tag if needed. Returns undefined if the name is
 * not valid.
 */
export function pullReference(image: string): string | undefined {
  const name = parseImageName(image);
  if (!name) return undefined;
  const isBare = name.digest === '' && !image.endsWith(`:${name.tag}`);
  return isBare ? `${image}:${name.tag}` : image;
}

/** The imagePullPolicy of a container whose manifest names none. kubelet: core/v1/defaults.go SetDefaults_Container */
export function defaultImagePullPolicy(image: string): 'Always' | 'IfNotPresent' {
  return parseImageName(image)?.tag === 'latest' ? 'Always' : 'IfNotPresent';
}

/** No registry has a longer name, and the pattern's stack grows with the length. */
const maxNameLength = 4096;
const maxPathLength = 255;
const hostLabel = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const registry = `(?:${hostLabel}(?:\\.${hostLabel})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const pathComponent = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const referencePattern = new RegExp(
  `^((?:${registry}/)?(${pathComponent}(?:/${pathComponent})*))(?::(\\w[\\w.-]{0,127}))?(?:@(.+))?$`,
);
const digestPattern = /^(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})$/;

/** The first part is a registry only if it looks like a host. Docker Hub's own images get the prefix `library`. */
function withRegistry(image: string): string {
  const slash = image.indexOf('/');
  const first = image.slice(0, Math.max(slash, 0));
  const isHost = first === 'localhost' || /[.:]/.test(first) || first !== first.toLowerCase();
  const host = slash >= 0 && isHost ? first : 'docker.io';
  const rest = slash >= 0 && isHost ? image.slice(slash + 1) : image;
  const isHub = host === 'docker.io' || host === 'index.docker.io';
  return `${isHub ? 'docker.io' : host}/${isHub && !rest.includes('/') ? 'library/' : ''}${rest}`;
}
