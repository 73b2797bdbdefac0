import {
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as requestHTTP,
  type RequestOptions,
} from 'node:http';
import { request as requestHTTPS } from 'node:https';
import { isIP } from 'node:net';
import { connect as connectTLS } from 'node:tls';
import { limitInformational } from '../../engine/network/http-get.ts';
import { openTunnel, parseProxyURL, type Proxy, proxyFailure, requestByProxy } from './proxy.ts';

/** Our client certificate and the authorities that we trust, in PEM. */
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
  /** URL of the proxy. Undefined for a direct connection. */
  proxy: string | undefined;
  signal: AbortSignal;
}

/**
 * Sends a request on a new connection. Resolves to the response before its body is read. The body fails with an error
 * if the connection breaks. Rejects with the connection's error, with an OriginFailure if the proxy fails, or with any
 * error if the signal is aborted. Aborting the signal closes the connection.
 */
export async function sendRequest(sent: HTTPRequest): Promise<IncomingMessage> {
  const proxy = sent.proxy === undefined ? undefined : { url: parseProxyURL(sent.proxy), ca: sent.tls.ca };
  const request = limitInformational(await open(sent, proxy));
  // Without a tunnel, we are connected to the proxy.
  const isOfProxy = proxy !== undefined && sent.url.protocol !== 'https:';
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      reject(isOfProxy ? proxyFailure(error) : error);
    };
    request
      .on('response', resolve)
      // Without a listener, nothing would report an answer of 101.
      .on('upgrade', (response, socket) => {
        socket.destroy();
        resolve(response);
      })
      .on('error', fail)
      .end(sent.body);
  });
}

async function open(
  { method = 'GET', url, headers, tls, signal }: HTTPRequest,
  proxy: Proxy | undefined,
): Promise<ClientRequest> {
  const options = { method, headers, signal };
  // `rejectUnauthorized` is set so that no environment variable can disable it.
  const trust = { ...tls, rejectUnauthorized: true };
  if (proxy !== undefined && url.protocol === 'https:') return tunnelled(proxy, url, options, trust);
  if (proxy !== undefined) return requestByProxy(proxy, url, options);
  const send = url.protocol === 'https:' ? requestHTTPS : requestHTTP;
  return send(url, { ...trust, ...options, agent: false });
}

async function tunnelled(
  proxy: Proxy,
  url: URL,
  options: RequestOptions & Pick<HTTPRequest, 'signal'>,
  trust: TLSOptions & { rejectUnauthorized: boolean },
): Promise<ClientRequest> {
  const tunnel = await openTunnel(proxy, url, options.signal);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const server = { host, ...(isIP(host) === 0 && { servername: host }), ALPNProtocols: ['http/1.1'] };
  try {
    const socket = connectTLS({ ...trust, ...server, socket: tunnel });
    return requestHTTPS(url, { ...options, createConnection: () => socket });
  } catch (error) {
    tunnel.destroy();
    throw error;
  }
}
