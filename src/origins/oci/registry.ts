import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { Clock } from '../../clock.ts';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import { parseRetryAfter } from '../../engine/config/polled/next-check-delay.ts';
import { type FetchReport, maxCheapBytes } from '../../engine/config/polled/manifest-origin.ts';
import { sha256 } from '../../engine/config/last-good/last-good-format.ts';
import type { RegistryCredentials } from '../../engine/images/docker-config.ts';
import type { SecretValues } from '../../engine/redaction/secret-values.ts';
import type { ManifestProblem } from '../../engine/view/events.ts';
import { readCredentials } from '../http/http-credentials.ts';
import { sendRequest, type TLSOptions } from '../http/http-request.ts';
import type { LargeBodies } from '../http/large-bodies.ts';
import { readBody } from '../http/read-body.ts';
import { redirectStatuses } from '../http/redirect-target.ts';
import { type RequestLimits, withinLimits } from '../http/request-limits.ts';
import { isThisMachine } from '../http/url.ts';
import { digestsOf, type Layer, manifestTypes } from './artifact-manifest.ts';
import { parseChallenge } from './challenge.ts';
import { isDigest, type OCILocation } from './oci-url.ts';
import { basicAuthorization, tokenRequest, tokenURL } from './registry-token.ts';
import { members, parsedJSON, textOf } from './json-members.ts';

export interface RegistryOptions extends OCILocation {
  /** Certificate authorities to trust instead of the well-known ones. */
  caFile?: string | undefined;
  /** Returns the credentials for an image repository. Problems are added to `warnings`. */
  credentials: (name: string, warnings: ManifestProblem[]) => Promise<RegistryCredentials | undefined>;
  /** Returns the proxy for a URL, or undefined if it needs none. */
  proxyFor: (url: string) => string | undefined;
  /** Receives passwords and tokens. */
  secrets?: SecretValues;
  /** Shared by all servers. */
  largeBodies: LargeBodies;
  clock: Clock;
}

const maxRedirects = 5;
/** Limit for a manifest or index. One with 100 layers needs a tenth of this. */
const maxManifestBytes = maxCheapBytes;
/** Limit for the response of a token server. */
const maxTokenBytes = 64 * 1024;
/** An index is accepted so that a problem can name it. */
const indexTypes: readonly string[] = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
];
const acceptManifests = [...manifestTypes, ...indexTypes].join(', ');

/** A repository in a registry. Keeps its authorization for the next visit. OCI: distribution-spec, pulling */
export class Registry {
  private readonly kept: Authorization = {};

  constructor(private readonly options: RegistryOptions) {}

  /**
   * Lets `use` read within the limits of one check. Rejects with an OriginFailure, or with the signal's reason.
   * Problems with credentials and the bytes of all bodies are added to the report.
   */
  async visit<T>(report: FetchReport, signal: AbortSignal, use: (visit: RegistryVisit) => Promise<T>): Promise<T> {
    const { caFile, clock } = this.options;
    return withinLimits(clock, signal, async (limits) => {
      const { tls } = await readCredentials(caFile === undefined ? {} : { caFile });
      return use(new RegistryVisit(this.options, { limits, tls, report, kept: this.kept }));
    });
  }
}

interface Authorization {
  /** Header of the last successful authentication. */
  header?: string;
}

interface Session {
  limits: RequestLimits;
  tls: TLSOptions;
  report: FetchReport;
  kept: Authorization;
}

/** The requests of one check. All methods reject with an OriginFailure or with a connection error. */
export class RegistryVisit {
  /** Aborted when the visit must stop reading. */
  readonly signal: AbortSignal;

  constructor(
    private readonly options: RegistryOptions,
    private readonly session: Session,
  ) {
    this.signal = session.limits.signal;
  }

  /** Returns the digest that a tag has now. Returns undefined if the registry does not report it or has no such tag. */
  async digestOf(tag: string): Promise<string | undefined> {
    const response = await this.request('HEAD', `manifests/${tag}`, acceptManifests);
    discard(response);
    const digest = response?.headers['docker-content-digest'];
    return typeof digest === 'string' && isDigest(digest) ? digest : undefined;
  }

  /** Returns a manifest by tag or digest, or undefined if the registry has no such manifest. */
  async manifest(reference: string): Promise<{ digest: string; bytes: Buffer } | undefined> {
    const response = await this.request('GET', `manifests/${reference}`, acceptManifests);
    if (response === undefined) return undefined;
    const bytes = await this.body(response, maxManifestBytes);
    const digest = `sha256:${sha256(bytes)}`;
    if (isDigest(reference) && digest !== reference) throw otherContent(reference);
    return { digest, bytes };
  }

  /** Returns the digests of manifests that refer to a digest, as signatures do. distribution-spec: listing referrers */
  async referrers(digest: string): Promise<string[]> {
    const response = await this.request('GET', `referrers/${digest}`, indexTypes.join(', '));
    if (response !== undefined) return digestsOf(await this.body(response, maxManifestBytes));
    // A registry without that API stores them under a tag.
    const tagged = await this.manifest(digest.replace(':', '-'));
    return tagged === undefined ? [] : digestsOf(tagged.bytes);
  }

  async blob({ digest, size }: Layer): Promise<Buffer> {
    const response = await this.request('GET', `blobs/${digest}`, '*/*');
    if (response === undefined) throw statusFailure(404);
    const bytes = await this.body(response, size).catch((error: unknown) => {
      throw error instanceof OriginFailure && error.kind === 'is a flood' ? otherContent(digest) : error;
    });
    if (bytes.length !== size || `sha256:${sha256(bytes)}` !== digest) throw otherContent(digest);
    return bytes;
  }

  private body(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
    const { limits, report } = this.session;
    return readBody(response, response.headers, limits, this.options.largeBodies, { maxBytes, report });
  }

  /** Authenticates if the registry requires it. Returns undefined for a 404. */
  private async request(method: 'GET' | 'HEAD', path: string, accept: string): Promise<IncomingMessage | undefined> {
    const { host, repository } = this.options;
    const protocol = this.isLoopback() ? 'http' : 'https';
    const url = new URL(`${protocol}://${host}/v2/${repository}/${path}`);
    let { response, isOwn } = await this.follow(method, url, accept);
    if (response.statusCode === 401 && isOwn) {
      discard(response);
      const { 'www-authenticate': challenge = '' } = response.headers;
      this.session.kept.header = await this.authenticate(challenge);
      ({ response, isOwn } = await this.follow(method, url, accept));
    }
    const { statusCode = 0, headers } = response;
    if (statusCode === 200) return response;
    discard(response);
    if (statusCode === 404 && isOwn) return undefined;
    throw statusFailure(statusCode, parseRetryAfter(headers['retry-after'], this.options.clock.now()));
  }

  /** Follows redirects, because registries keep blobs on other servers. No other server gets the credentials. */
  private async follow(
    method: 'GET' | 'HEAD',
    url: URL,
    accept: string,
  ): Promise<{ response: IncomingMessage; isOwn: boolean }> {
    let target = url;
    for (let redirects = 0; redirects <= maxRedirects; redirects++) {
      const isOwn = target.origin === url.origin;
      const authorization = isOwn ? this.session.kept.header : undefined;
      const headers = { accept, ...(authorization !== undefined && { authorization }) };
      const response = await this.send(method, target, headers);
      if (!redirectStatuses.has(response.statusCode ?? 0)) return { response, isOwn };
      discard(response);
      const { location = '' } = response.headers;
      if (!URL.canParse(location, target.href)) throw refused('the registry redirects to an invalid URL');
      const next = Object.assign(new URL(location, target), { username: '', password: '', hash: '' });
      if (!this.mayReach(next)) throw refused(`the registry redirects to ${next.origin}, which is not encrypted`);
      target = next;
    }
    throw refused(`the registry redirects more than ${maxRedirects} times`);
  }

  private async send(
    method: 'GET' | 'HEAD' | 'POST',
    url: URL,
    headers: OutgoingHttpHeaders,
    body?: string,
  ): Promise<IncomingMessage> {
    const { limits, tls } = this.session;
    const response = await sendRequest({
      method,
      url,
      headers: { 'user-agent': 'kubelet-ts', 'accept-encoding': 'identity', ...headers },
      tls,
      proxy: this.options.proxyFor(url.href),
      signal: limits.signal,
      ...(body !== undefined && { body }),
    });
    limits.progress();
    return response;
  }

  /** Returns the header that answers a challenge. */
  private async authenticate(header: string): Promise<string> {
    const { credentials: find, host, name, reference, repository, secrets } = this.options;
    const challenge = parseChallenge(header);
    if (challenge === undefined) throw statusFailure(401);
    const credentials = await find(name, this.session.report.warnings);
    secrets?.set(`credentials for ${name}`, [credentials?.password ?? '', credentials?.identityToken ?? '']);
    if (challenge.scheme === 'basic') {
      if (credentials === undefined) throw statusFailure(401);
      return basicAuthorization(credentials);
    }
    const realm = tokenURL(challenge);
    if (realm === undefined || !this.mayReach(realm)) throw refused('the registry names no encrypted token server');
    const { method, url, headers, body } = tokenRequest(realm, challenge, repository, credentials);
    const response = await this.send(method, url, headers, body);
    if (response.statusCode !== 200) {
      discard(response);
      throw statusFailure(response.statusCode ?? 0);
    }
    const answer = members(parsedJSON(await this.body(response, maxTokenBytes)));
    const token = textOf(answer, 'token') || textOf(answer, 'access_token');
    if (!/^[\x21-\x7e]+$/.test(token)) throw refused(`the token server of ${host} answered without a token`);
    // Each source has its own token.
    secrets?.setShortLived(`token for ${name} ${reference}`, [token]);
    return `Bearer ${token}`;
  }

  private isLoopback(): boolean {
    return isThisMachine(new URL(`http://${this.options.host}`).hostname);
  }

  /** Plain HTTP never leaves this machine, and no other registry can redirect to it. */
  private mayReach({ protocol, hostname }: URL): boolean {
    return protocol === 'https:' || (protocol === 'http:' && this.isLoopback() && isThisMachine(hostname));
  }
}

function discard(response: IncomingMessage | undefined): void {
  // Without a listener, its error would crash the process.
  response?.on('error', () => undefined).destroy();
}

function refused(message: string): OriginFailure {
  return new OriginFailure('refused', message, 'Check the name of the registry, and its configuration.');
}

function otherContent(digest: string): OriginFailure {
  const hint = 'The registry, or a cache in front of it, is damaged. The request is repeated automatically.';
  return new OriginFailure('is no manifest', `the registry answered with other content than ${digest}`, hint);
}

/** Returns the failure for a response with this status. */
export function statusFailure(statusCode: number, retryAfterMs?: number): OriginFailure {
  const hint = statusHints.get(statusCode) ?? 'The request is repeated automatically.';
  return new OriginFailure('refused', `the registry answered ${statusCode}`, hint, { retryAfterMs });
}

const credentialsHint = 'Log in with docker login, oras login or the like, and put its config.json into the root-dir.';
const statusHints: ReadonlyMap<number, string> = new Map([
  [401, credentialsHint],
  [403, credentialsHint],
  [404, 'Check the repository and the tag of the URL.'],
  [429, 'The request is repeated automatically, less often.'],
]);
