import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Clock } from '../../clock.ts';
import { UserError } from '../../errors.ts';
import { abortWith } from '../../abort-with.ts';
import { GrowingBytes } from '../../growing-bytes.ts';
import { addressText, dialErrorText } from './dial-error.ts';
import { parseGoURL } from './go-url.ts';
import type { HTTPProbeRequest } from './http-action-request.ts';

/** The limit of Go's client, which the kubelet uses. */
const maxRedirects = 10;
/** kubelet: pkg/probe/http/http.go maxRespBodyLength */
const maxBodyBytes = 10 * 1024;
/** In the words of Go's client. */
const awaitingHeaders = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
const readingBody = 'context deadline exceeded (Client.Timeout or context cancellation while reading body)';
/** Pods on the host network are reached at this address, because they have none of their own. */
const thisMachine = '127.0.0.1';

export interface HTTPAnswer {
  statusCode: number;
  /** The first 10 KiB. */
  body: string;
}

/**
 * Sends one GET request and follows redirects on the same host. Checks no certificate, uses no proxy and keeps no
 * connection. Rejects if the answer with its body is not complete in time. kubelet: pkg/probe/http/http.go DoHTTPProbe
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

async function follow(request: HTTPProbeRequest, signal: AbortSignal): Promise<HTTPAnswer> {
  let target = targetOf(request.url);
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const answer = await send(target, request, signal).catch((error: unknown) => {
      const text = signal.aborted ? awaitingHeaders : dialErrorText(error, target);
      throw new Error(`Get "${urlOf(target)}": ${text}`, { cause: error });
    });
    const next = redirectOf(answer, target);
    if (next?.host !== target.host) {
      const body = await firstBytes(answer).catch((error: unknown) => {
        throw signal.aborted ? new Error(readingBody, { cause: error }) : error;
      });
      return { statusCode: answer.statusCode ?? 0, body };
    }
    answer.destroy();
    target = next;
  }
  throw new Error(`stopped after ${maxRedirects} redirects`);
}

function targetOf(text: string): Target {
  const { scheme, host: address, escapedPath, query } = parseGoURL(text) ?? refuse(text);
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  const path = escapedPath.startsWith('/') ? escapedPath : `/${escapedPath}`;
  return { scheme, host: host === '' ? thisMachine : host, port: Number(address.slice(colon + 1)), path: path + query };
}

function refuse(text: string): never {
  throw new UserError(`"${text}" is no URL`);
}

async function send(
  { scheme, host, port, path }: Target,
  { headers, hostHeader }: HTTPProbeRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const options = { host, port, path, agent: false, setHost: hostHeader === '', signal } as const;
  const sent = scheme === 'https' ? httpsRequest({ ...options, rejectUnauthorized: false }) : httpRequest(options);
  // Node sends only one Host header.
  for (const [name, values] of Object.entries(headers)) sent.setHeader(name, name === 'Host' ? hostHeader : values);
  limitInformational(sent).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  // A reader of the body gets the error.
  sent.on('error', () => undefined);
  return answer;
}

const urlOf = ({ scheme, host, port, path }: Target): string => `${scheme}://${addressText(host, port)}${path}`;

const defaultPorts: Readonly<Record<string, number>> = { http: 80, https: 443 };

/** Returns undefined if the answer is not a redirect. */
function redirectOf(
  { statusCode = 0, headers: { location } }: IncomingMessage,
  { scheme, host, port, path }: Target,
): Target | undefined {
  if (![301, 302, 303, 307, 308].includes(statusCode) || location === undefined) return undefined;
  const base = urlOf({ scheme, host, port, path });
  if (!URL.canParse(location, base)) return undefined;
  const next = new URL(location, base);
  const nextScheme = next.protocol.slice(0, -1);
  return {
    scheme: nextScheme,
    host: next.hostname.replace(/^\[|\]$/g, ''),
    port: Number(next.port === '' ? defaultPorts[nextScheme] : next.port),
    path: `${next.pathname}${next.search}`,
  };
}

async function firstBytes(answer: IncomingMessage): Promise<string> {
  const body = new GrowingBytes();
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    body.add(chunk);
    // Leaving the loop closes the connection.
    if (body.length >= maxBodyBytes) break;
  }
  return body.take().subarray(0, maxBodyBytes).toString('utf8');
}

/** The limit of Go's client, which the kubelet uses. */
const maxInformational = 5;

/** Ends a request if its server sends too many 1xx answers, because it may never send a final one. */
export function limitInformational(request: ClientRequest): ClientRequest {
  let informational = 0;
  return request.on('information', () => {
    informational += 1;
    // A packet may hold thousands.
    if (informational === maxInformational + 1) request.destroy(new Error('too many 1xx informational responses'));
  });
}
