import type { OutgoingHttpHeaders } from 'node:http';
import { unescape } from 'node:querystring';
import { maxManifestBytes } from '../../api/decoding/manifest-document.ts';
import type { Clock } from '../../clock.ts';
import type { ManifestProblem } from '../../engine/view/events.ts';
import type { SecretValues } from '../../engine/redaction/secret-values.ts';
import { type HTTPCredentialFiles, readCredentials } from './http-credentials.ts';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import type { Validators } from '../../engine/config/polled/manifest-origin.ts';
import { parseRetryAfter } from '../../engine/config/polled/next-check-delay.ts';
import { statusFailure } from './explain-failure.ts';
import { sendRequest, type TLSOptions } from './http-request.ts';
import type { LargeBodies } from './large-bodies.ts';
import { isThisMachine, shownURL } from './url.ts';
import { readBody } from './read-body.ts';
import { redirectStatuses, redirectTarget } from './redirect-target.ts';
import { type RequestLimits, type RequestTimes, withinLimits } from './request-limits.ts';

const maxRedirects = 5;

export type Answer = 'not modified' | { body: Buffer; validators: Validators };

/** Requests to the server with one set of credentials and one time limit. */
export interface Visit {
  /** Rejects with an OriginFailure. `maxBytes` limits the body and defaults to 10 MiB. */
  get(url: URL, known?: Validators, maxBytes?: number): Promise<Answer>;
  /** Problems with the credential files. */
  warnings: readonly ManifestProblem[];
}

/** The server of a manifest URL. No other server gets our credentials. */
export interface ManifestServer {
  /** May contain user and password. */
  url: URL;
  /** Sent with every request. A name may occur more than once. */
  headers: readonly (readonly [name: string, value: string])[];
  files: HTTPCredentialFiles;
  /** Returns the proxy for a URL, or undefined if it needs none. */
  proxyFor: (url: string) => string | undefined;
  /** Receives the token of the token file. */
  secrets?: SecretValues;
  /** Shared by all servers. */
  largeBodies: LargeBodies;
  clock: Clock;
}

/**
 * Reads the credentials again and lets `use` fetch with them, within the RequestLimits of one check. Rejects with an
 * OriginFailure, or with the signal's reason.
 */
export async function visitServer<T>(
  server: ManifestServer,
  signal: AbortSignal,
  use: (visit: Visit) => Promise<T>,
  times?: RequestTimes,
): Promise<T> {
  return withinLimits(server.clock, signal, (limits) => open(server, limits).then(use), times);
}

async function open(server: ManifestServer, limits: RequestLimits): Promise<Visit> {
  const { tls, token, warnings } = await readCredentials(server.files);
  if (token !== undefined) server.secrets?.set(`token for ${server.url.origin}`, [token]);
  const headers = headersFor(server, token);
  if (headers.authorization !== undefined) warnings.push(...unencrypted(server.url));
  const session = { server, headers, tls, limits };
  return { warnings, get: (url, known = {}, maxBytes = maxManifestBytes) => get(url, known, maxBytes, session) };
}

/** Shared by all requests of a visit. */
interface Session {
  server: ManifestServer;
  headers: OutgoingHttpHeaders;
  tls: TLSOptions;
  limits: RequestLimits;
}

async function get(
  url: URL,
  known: Validators,
  maxBytes: number,
  { server, headers, tls, limits }: Session,
): Promise<Answer> {
  const conditions = {
    ...(known.etag !== undefined && { 'if-none-match': known.etag }),
    ...(known.lastModified !== undefined && { 'if-modified-since': known.lastModified }),
  };
  const { signal } = limits;
  let target = withoutCredentials(url);
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const proxy = server.proxyFor(target.href);
    const response = await sendRequest({ url: target, headers: { ...headers, ...conditions }, tls, proxy, signal });
    limits.progress();
    const { statusCode = 0, headers: answered } = response;
    if (statusCode === 200) {
      const body = await readBody(response, answered, limits, server.largeBodies, { maxBytes });
      return { body, validators: { etag: answered.etag, lastModified: answered['last-modified'] } };
    }
    // The body is not needed. Without a listener, its error would crash the process.
    response.on('error', () => undefined).destroy();
    if (statusCode === 304 && Object.keys(conditions).length > 0) return 'not modified';
    if (!redirectStatuses.has(statusCode)) {
      throw statusFailure(statusCode, parseRetryAfter(answered['retry-after'], server.clock.now()));
    }
    target = redirectTarget(target, answered.location ?? '');
  }
  const hint = 'Give the final URL of the manifest to --manifest-url.';
  throw new OriginFailure('refused', `the server redirects more than ${maxRedirects} times`, hint);
}

/** Warns if credentials are sent to another machine without TLS. */
export function unencrypted(url: URL): ManifestProblem[] {
  if (url.protocol === 'https:' || isThisMachine(url.hostname)) return [];
  const message = 'the credentials are sent unencrypted';
  return [{ origin: shownURL(url), severity: 'warning', message, hint: 'Use https.' }];
}

/** The headers of every request, with the credentials. */
export function headersFor(
  { url, headers }: Pick<ManifestServer, 'url' | 'headers'>,
  token: string | undefined,
): OutgoingHttpHeaders {
  const all: OutgoingHttpHeaders = { 'user-agent': 'kubelet-ts', 'accept-encoding': 'gzip' };
  for (const name of new Set(headers.map(([name]) => name.toLowerCase()))) {
    all[name] = headers.filter(([other]) => other.toLowerCase() === name).map(([, value]) => value);
  }
  if (url.username !== '' || url.password !== '') all.authorization = basic(url);
  if (token !== undefined) all.authorization = `Bearer ${token}`;
  return all;
}

/** The URL without user, password and fragment. */
export function withoutCredentials(url: URL): URL {
  return Object.assign(new URL(url), { username: '', password: '', hash: '' });
}

function basic({ username, password }: URL): string {
  const credentials = [username, password].map((part) => unescape(part)).join(':');
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}
