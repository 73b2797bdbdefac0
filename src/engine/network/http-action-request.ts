import type { HTTPGetAction } from 'kubernetes-types/core/v1.js';
import type { Container } from '../../api/types.ts';
import { UserError } from '../../errors.ts';
import { formatGoURL, parseGoURL, pathURL } from './go-url.ts';

/** The GET request of a probe. */
export interface HTTPProbeRequest {
  url: string;
  /** Values by canonical name, in the order of sending. */
  headers: Record<string, string[]>;
  /** The `Host` header. If empty, the host of the URL is sent. */
  hostHeader: string;
}

/**
 * Returns the request of an httpGet probe or hook. Uses `podIP` if it names no host, and `userAgent` unless it sets
 * one. Throws a `UserError` if its port or host is invalid. kubelet: pkg/probe/http/request.go
 * NewRequestForHTTPGetAction
 */
export function httpProbeRequest(
  { scheme = '', host = '', port, path = '', httpHeaders = [] }: HTTPGetAction,
  container: Container,
  { podIP, userAgent }: { podIP: string; userAgent: string },
): HTTPProbeRequest {
  const address = host === '' ? podIP : host;
  const url = formatGoURL({
    ...(parseGoURL(path) ?? pathURL(path)),
    scheme: scheme === '' ? 'http' : scheme.toLowerCase(),
    host: `${/[:%]/.test(address) ? `[${address}]` : address}:${resolveContainerPort(port, container)}`,
  });
  const request = parseGoURL(url);
  if (!request) throw new UserError(`httpGet: "${url}" is not a URL`, { hint: 'Correct the host.' });
  const headers = withDefaults(httpHeaders, userAgent);
  return { url: formatGoURL(request), headers, hostHeader: headers['Host']?.[0] ?? '' };
}

/**
 * Returns the number of a port that is given by number or name. Uses the first port with that name. The empty name
 * means a port without a name. Throws a `UserError` if no port matches. kubelet: pkg/probe/util.go ResolveContainerPort
 */
export function resolveContainerPort(port: number | string, { name, ports = [] }: Container): number {
  const named = ports.find((candidate) => (candidate.name ?? '') === port)?.containerPort;
  const number = typeof port === 'number' ? port : (named ?? (/^[+-]?\d+$/.test(port) ? Number(port) : 0));
  if (number > 0 && number < 65_536) return number;
  throw new UserError(`container "${name}" has no port "${port}"`, {
    hint: 'Give the number of a port, or the name of one in ports.',
  });
}

function withDefaults(given: readonly { name: string; value: string }[], userAgent: string): Record<string, string[]> {
  const headers = new Map<string, string[]>();
  for (const { name, value } of given) {
    const key = canonicalHeaderName(name);
    headers.set(key, [...(headers.get(key) ?? []), value]);
  }
  if (!headers.has('User-Agent')) headers.set('User-Agent', [userAgent]);
  if (!headers.has('Accept')) headers.set('Accept', ['*/*']);
  // An empty value removes the header.
  else if (headers.get('Accept')?.[0] === '') headers.delete('Accept');
  return Object.fromEntries(headers);
}

/**
 * Returns the canonical form, such as `X-Request-Id`. An invalid name stays as written. Go: net/textproto
 * CanonicalMIMEHeaderKey
 */
function canonicalHeaderName(name: string): string {
  if (!/^[\w!#$%&'*+\-.^`|~]+$/.test(name)) return name;
  return name.toLowerCase().replaceAll(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase());
}
