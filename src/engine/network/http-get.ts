import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { domainToASCII } from 'node:url';
import type { Clock } from '../../clock.ts';
import { errorMessage, hasCode, UserError } from '../../errors.ts';
import { abortWith } from '../../flow/abort-with.ts';
import { GrowingBytes } from '../../files/growing-bytes.ts';
import { addressText, dialErrorText } from './dial-error.ts';
import { formatGoURL, type GoURL, parseGoURL, pathURL } from './go-url.ts';
import type { HTTPProbeRequest } from './http-action-request.ts';

/** The limit in Go's client, which the kubelet uses. */
const maxRequests = 10;
/** Go allows 10 MiB. Node keeps the headers in memory and has 16 KiB by default. */
const maxHeaderBytes = 256 * 1024;
/** kubelet: pkg/probe/http/http.go maxRespBodyLength */
const maxBodyBytes = 10 * 1024;
/** The message of Go's client. */
const awaitingHeaders = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
const readingBody = 'context deadline exceeded (Client.Timeout or context cancellation while reading body)';
/** Pods on the host network are reached at this address, because they have no pod IP. */
const thisMachine = '127.0.0.1';

export interface HTTPAnswer {
  statusCode: number;
  /** The first 10 KiB. */
  body: string;
}

/** The response began, but the rest of its body did not arrive. */
export class BrokenBody extends Error {
  override readonly name = 'BrokenBody';
}

/**
 * Sends one GET request and follows redirects on the same host. Does not check certificates, use a proxy or keep
 * connections. Rejects if the response does not arrive in time, and with a `BrokenBody` if only its body is incomplete.
 * kubelet: pkg/probe/http/http.go DoHTTPProbe
 */
export async function httpGet(
  request: HTTPProbeRequest,
  { timeoutMs, clock, signal }: { timeoutMs?: number; clock: Clock; signal: AbortSignal },
): Promise<HTTPAnswer> {
  const timeout = new AbortController();
  const cancel =
    timeoutMs === undefined
      ? undefined
      : clock.after(timeoutMs, () => {
          timeout.abort(new Error(awaitingHeaders));
        });
  const release = abortWith(timeout, signal);
  try {
    return await follow(request, timeout.signal);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    cancel?.();
    release();
  }
}

interface Target {
  scheme: string;
  /** Name or address, IPv6 without brackets. */
  host: string;
  port: number;
  /** Path and query. */
  path: string;
}

/** Go: net/http client.go do */
async function follow(request: HTTPProbeRequest, signal: AbortSignal): Promise<HTTPAnswer> {
  let url = parseGoURL(request.url) ?? refuse(request.url);
  let { hostHeader } = request;
  for (let requests = 1; ; requests++) {
    const target = targetOf(url);
    const answer = await send(target, { ...request, hostHeader }, signal).catch((error: unknown) => {
      const text = signal.aborted ? awaitingHeaders : dialErrorText(error, { ...target, host: asciiHost(target.host) });
      throw new Error(`Get "${urlOf(target)}": ${text}`, { cause: error });
    });
    const location = locationOf(answer);
    const reference = parseGoURL(location);
    const next = reference && resolved(url, reference);
    if (location === '' || (next !== undefined && targetOf(next).host !== target.host)) {
      return { statusCode: answer.statusCode ?? 0, body: await bodyOf(answer, signal) };
    }
    answer.destroy();
    if (reference === undefined || next === undefined) {
      throw new Error(`Get "${urlOf(target)}": failed to parse Location header ${JSON.stringify(location)}`);
    }
    if (requests === maxRequests) {
      throw new Error(`Get ${JSON.stringify(location)}: stopped after ${maxRequests} redirects`);
    }
    if (defaultPorts[next.scheme] === undefined) {
      throw new Error(`Get ${JSON.stringify(location)}: unsupported protocol scheme ${JSON.stringify(next.scheme)}`);
    }
    // The header names the host from the manifest, but the location may name a different one.
    if (reference.scheme !== '') hostHeader = '';
    url = next;
  }
}

const defaultPorts: Readonly<Record<string, number>> = { http: 80, https: 443 };

function targetOf({ scheme, host: address, escapedPath, query }: GoURL): Target {
  const [, host = '', port = ''] = /^(.*?)(?::(\d*))?$/.exec(address) ?? [];
  const name = host.replace(/^\[|\]$/g, '');
  return {
    scheme,
    host: name === '' ? thisMachine : name,
    port: port === '' ? (defaultPorts[scheme] ?? 0) : Number(port),
    path: `${escapedPath.startsWith('/') ? '' : '/'}${escapedPath}${query}`,
  };
}

function refuse(text: string): never {
  throw new UserError(`"${text}" is not a URL`);
}

function send(
  { scheme, host, port, path }: Target,
  request: HTTPProbeRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = {
      host: asciiHost(host),
      port,
      path: utf8(path),
      agent: false,
      // Node rejects an invalid header before it connects.
      headers: sentHeaders(request),
      setHost: request.hostHeader === '',
      signal,
      // Go accepts responses that Node rejects by default, such as those with bare line feeds. This is safe, because
      // the connection carries only one response.
      insecureHTTPParser: true,
      maxHeaderSize: maxHeaderBytes,
    } as const;
    const sent = scheme === 'https' ? httpsRequest({ ...options, rejectUnauthorized: false }) : httpRequest(options);
    let fail: (error: Error) => void = reject;
    sent.on('error', (error) => {
      fail(error);
    });
    sent.once('response', (answer) => {
      // Whoever reads the body gets the error.
      fail = (error) => answer.on('error', () => undefined).destroy(error);
      resolve(answer);
    });
    limitInformational(sent).end();
  });
}

function sentHeaders({ headers, hostHeader }: HTTPProbeRequest): Record<string, string | string[]> {
  const sent: Record<string, string | string[]> = {};
  for (const [name, values] of Object.entries(headers)) {
    if (name !== 'Host') sent[name] = values.map(utf8);
    // Node sends only one Host header.
    else if (hostHeader !== '') sent[name] = asciiHost(hostHeader);
  }
  return sent;
}

/** Returns the UTF-8 bytes of a text, one character per byte, because that is how Node sends and receives headers. */
const utf8 = (text: string): string => Buffer.from(text).toString('latin1');

/** Returns a name or address, with or without a port, in ASCII. Go: net/http/internal/httpguts PunycodeHostPort */
function asciiHost(text: string): string {
  const [, host = '', port = ''] = /^(.*?)(:\d*)?$/s.exec(text) ?? [];
  return /^[\0-\x7f]*$/.test(host) ? text : `${domainToASCII(host) || utf8(host)}${port}`;
}

const urlOf = ({ scheme, host, port, path }: Target): string =>
  formatGoURL({ ...pathURL(''), scheme, host: addressText(host, port), escapedPath: path });

/** Empty if the answer is not a redirect. */
function locationOf({ statusCode = 0, headers: { location = '' } }: IncomingMessage): string {
  return [301, 302, 303, 307, 308].includes(statusCode) ? Buffer.from(location, 'latin1').toString() : '';
}

/** Resolves a reference relative to a base URL. Go: net/url ResolveReference */
function resolved(base: GoURL, reference: GoURL): GoURL {
  if (reference.scheme !== '' || reference.host !== '' || reference.userinfo !== '') {
    return { ...reference, scheme: reference.scheme || base.scheme, escapedPath: plainPath(reference.escapedPath) };
  }
  const { escapedPath, query } = reference;
  const folder = base.escapedPath.slice(0, base.escapedPath.lastIndexOf('/') + 1);
  const path = escapedPath.startsWith('/') ? escapedPath : escapedPath === '' ? base.escapedPath : folder + escapedPath;
  return { ...base, escapedPath: plainPath(path), query: escapedPath === '' && query === '' ? base.query : query };
}

/** Removes `.` and `..` from a path. Escaped ones count as names. Go: net/url resolvePath */
function plainPath(escapedPath: string): string {
  const kept: string[] = [];
  const names = escapedPath.replace(/^\//, '').split('/');
  for (const name of names) {
    if (name === '..') kept.pop();
    else if (name !== '.') kept.push(name);
  }
  if (/^\.{1,2}$/.test(names.at(-1) ?? '')) kept.push('');
  return `/${kept.join('/')}`;
}

async function bodyOf(answer: IncomingMessage, signal: AbortSignal): Promise<string> {
  try {
    return await firstBytes(answer);
  } catch (error) {
    // This is how Node reports a truncated body.
    const text = hasCode(error, 'ECONNRESET') ? 'unexpected EOF' : errorMessage(error);
    throw new BrokenBody(signal.aborted ? readingBody : text, { cause: error });
  }
}

async function firstBytes(answer: IncomingMessage): Promise<string> {
  const body = new GrowingBytes();
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    body.add(chunk);
    // Leaving the loop closes the connection.
    if (body.length >= maxBodyBytes) break;
  }
  return body.drain().subarray(0, maxBodyBytes).toString('utf8');
}

/** The limit in Go's client, which the kubelet uses. */
const maxInformational = 5;

/** Aborts a request if its server sends too many 1xx answers, because it may never send a final one. */
export function limitInformational(request: ClientRequest): ClientRequest {
  let informational = 0;
  return request.on('information', () => {
    informational += 1;
    // Checks for the exact number, because one packet may hold thousands.
    if (informational === maxInformational + 1) request.destroy(new Error('too many 1xx informational responses'));
  });
}
