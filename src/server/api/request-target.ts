import { IncomingMessage } from 'node:http';

/** What a request names: the path as it was sent, and the query with its `?`, which is empty without a query. */
interface Target {
  path: string;
  search: string;
}

/** An answer of Go's server, which its handler never sees. */
export interface EarlyAnswer {
  status: number;
  /** Text after the number, if it is not that of the status. */
  statusText?: string;
  text: string;
}

/** Bytes that occur in any kind of host. kubelet: x/net http/httpguts ValidHostHeader */
const hostForm = /^[\w!$%&'()*+,\-.:;=[\]~]*$/;
const brokenEscape = /%(?![0-9a-f]{2})/i;

/**
 * The target of a request. Returns the answer for a request that Go refuses before its handler. kubelet: Go's net/http
 * conn.readRequest, serverHandler, net/url ParseRequestURI
 */
export function targetOf(request: Pick<IncomingMessage, 'method' | 'url'>): Target | EarlyAnswer {
  const problem = request instanceof IncomingMessage ? problemOf(request) : undefined;
  if (problem !== undefined) return problem;
  const { method, url = '' } = request;
  if (url === '*') return { status: method === 'OPTIONS' ? 200 : 400, text: '' };
  const [, path = '', search = ''] = /^(?:[a-z][a-z0-9+.-]*:\/\/[^/?]*)?([^?]*)(\?.*)?$/i.exec(url) ?? [];
  if ((path !== '' && !path.startsWith('/')) || url === '' || brokenEscape.test(path)) return badRequest();
  return { path, search: search === '?' ? '' : search };
}

/** HTTP/2 requests have one host, which Node checks. */
function problemOf({
  httpVersionMajor,
  httpVersionMinor,
  method,
  rawHeaders,
}: IncomingMessage): EarlyAnswer | undefined {
  if (httpVersionMajor !== 1) {
    return withText(505, 'HTTP Version Not Supported: unsupported protocol version');
  }
  const hosts = rawHeaders.filter((_text, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'host');
  const [host] = hosts;
  if (hosts.length > 1) return badRequest();
  if (host === undefined) {
    const isNeeded = httpVersionMinor > 0 && method !== 'CONNECT';
    return isNeeded ? withText(400, 'Bad Request: missing required Host header') : undefined;
  }
  return hostForm.test(host) ? undefined : withText(400, 'Bad Request: malformed Host header');
}

const badRequest = (): EarlyAnswer => withText(400, 'Bad Request');

const withText = (status: number, statusText: string): EarlyAnswer => ({
  status,
  statusText,
  text: `${status} ${statusText}`,
});
