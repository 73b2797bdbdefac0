import type { OutgoingHttpHeaders } from 'node:http';
import type { RegistryCredentials } from '../../engine/images/docker-config.ts';
import type { Challenge } from './challenge.ts';

interface TokenRequest {
  method: 'GET' | 'POST';
  url: URL;
  headers: OutgoingHttpHeaders;
  body?: string;
}

/** Returns the token server that a challenge names, or undefined if it names none. */
export function tokenURL({ parameters }: Challenge): URL | undefined {
  const realm = parameters.get('realm') ?? '';
  if (!URL.canParse(realm)) return undefined;
  return Object.assign(new URL(realm), { username: '', password: '', hash: '' });
}

/**
 * Returns the request for a token to pull from a repository. An identity token requires POST. Without credentials, the
 * request is for an anonymous token. distribution: docs/content/spec/auth/token.md, oauth.md
 */
export function tokenRequest(
  realm: URL,
  { parameters }: Challenge,
  repository: string,
  credentials: RegistryCredentials | undefined,
): TokenRequest {
  const service = parameters.get('service') ?? '';
  const scope = parameters.get('scope') ?? `repository:${repository}:pull`;
  const query = { ...(service !== '' && { service }), scope };
  if (credentials !== undefined && credentials.identityToken !== '') {
    const grant = { grant_type: 'refresh_token', refresh_token: credentials.identityToken, client_id: 'kubelet-ts' };
    const body = new URLSearchParams({ ...grant, ...query }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': Buffer.byteLength(body) };
    return { method: 'POST', url: realm, headers, body };
  }
  const url = new URL(realm);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const headers = credentials === undefined ? {} : { authorization: basicAuthorization(credentials) };
  return { method: 'GET', url, headers };
}

/** RFC 7617 */
export function basicAuthorization({ username, password }: RegistryCredentials): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}
