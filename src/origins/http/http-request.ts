import { type Agent, type IncomingMessage, type OutgoingHttpHeaders, request as requestHTTP } from 'node:http';
import { request as requestHTTPS } from 'node:https';
import { limitInformational } from '../../engine/network/http-get.ts';

/** Our client certificate and the authorities that we trust; PEM. */
export interface TLSOptions {
  /** Replaces the well-known authorities. */
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
}

export interface HTTPRequest {
  /** Defaults to GET. */
  method?: 'GET' | 'HEAD' | 'PUT' | 'POST';
  url: URL;
  headers: OutgoingHttpHeaders;
  /** Its length must be in the headers. */
  body?: string;
  tls: TLSOptions;
  /** URL of the proxy; undefined without a proxy. */
  proxy: string | undefined;
  signal: AbortSignal;
}

/**
 * Sends a request on its own connection. Resolves to the answer before its body is read. The body ends
 * with an error if the connection is cut. Rejects with the error of the connection, or with any error if the signal is
 * aborted.
 */
export async function sendRequest({
  method = 'GET',
  url,
  headers,
  body,
  tls,
  proxy,
  signal,
}: HTTPRequest): Promise<IncomingMessage> {
  const agent = await agentFor(url, proxy);
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? requestHTTPS : requestHTTP;
    // `rejectUnauthorized` is set so that no environment variable can disable it.
    const request = limitInformational(send(url, { ...tls, method, rejectUnauthorized: true, agent, headers, signal }));
    request.on('response', resolve).on('error', reject).end(body);
  });
}

async function agentFor(url: URL, proxy: string | undefined): Promise<Agent | false> {
  if (proxy === undefined) return false;
  return url.protocol === 'https:'
    ? new (await import('https-proxy-agent')).HttpsProxyAgent(proxy)
    : new (await import('http-proxy-agent')).HttpProxyAgent(proxy);
}
