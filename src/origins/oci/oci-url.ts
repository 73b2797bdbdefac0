import { parseImageName } from '../../api/values/image-name.ts';

/** An artifact in a registry. */
export interface OCILocation {
  /** Name of the image repository including the registry, by which credentials are looked up. */
  name: string;
  /** Host and port of the registry. */
  host: string;
  /** Without the host, as in requests of the distribution API. */
  repository: string;
  /** The tag, or the digest if the URL has one. */
  reference: string;
}

/**
 * Parses `oci://REGISTRY/REPOSITORY:TAG` or `…@sha256:…`. Returns undefined for other forms, and for one with a user.
 */
export function parseOCIURL({
  protocol,
  username,
  password,
  host,
  pathname,
  search,
  hash,
}: URL): OCILocation | undefined {
  if (protocol !== 'oci:' || `${username}${password}${search}${hash}` !== '') return undefined;
  const name = parseImageName(`${host}${pathname}`);
  if (name?.repository.startsWith(`${host}/`) !== true) return undefined;
  const { tag, digest } = name;
  if (digest !== '' && !isDigest(digest)) return undefined;
  const repository = name.repository.slice(host.length + 1);
  // Docker Hub serves its API under a different name than its images.
  const registry = host === 'docker.io' ? 'registry-1.docker.io' : host;
  return { name: name.repository, host: registry, repository, reference: digest === '' ? tag : digest };
}

/** True for `sha256:` and 64 hex digits. Other algorithms are not supported. */
export const isDigest = (text: string): boolean => /^sha256:[0-9a-f]{64}$/.test(text);
