import {
  type ClientRequest,
  type IncomingMessage,
  request as requestHTTP,
  type RequestOptions as HTTPOptions,
} from 'node:http';
import { request as requestHTTPS } from 'node:https';
import type { Socket } from 'node:net';
import { unescape } from 'node:querystring';
import { rootCertificates } from 'node:tls';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import { limitInformational } from '../../engine/network/http-get.ts';
import { toOriginFailure } from './explain-failure.ts';

/** Limit in bytes for the header of a response. */
const maxHeaderSize = 16 * 1024;

/** A proxy from the environment. */
export interface Proxy {
  url: URL;
  /** Authorities that may sign its certificate, in addition to the well-known ones, in PEM. */
  ca: string | undefined;
}

const environmentHint = 'The proxy is that of HTTPS_PROXY or HTTP_PROXY.';

/** Parses a proxy URL. Throws an OriginFailure that does not quote the URL, which may contain a password. */
export function parseProxyURL(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  const message = 'the proxy: its URL is not of the form http://HOST:PORT or https://HOST:PORT';
  throw new OriginFailure('refused', message, environmentHint);
}

/** Explains an error of the connection to the proxy. */
export function proxyFailure(error: unknown): OriginFailure {
  const { kind, message, hint } = toOriginFailure(error);
  return new OriginFailure(kind, `the proxy: ${message}`, `${hint} ${environmentHint}`, { cause: error });
}

/** Sends the proxy a request with the whole URL, which it forwards. Only for servers without TLS. */
export function requestByProxy(proxy: Proxy, url: URL, options: HTTPOptions): ClientRequest {
  const headers = { host: url.host, ...(options.headers as object), ...authorization(proxy.url) };
  return requestOf(proxy, { ...options, path: url.href, headers });
}

/**
 * Opens a connection through a proxy to the server of a URL. Rejects with an OriginFailure if the proxy refuses or
 * cannot be reached. Until this resolves, aborting the signal closes the connection.
 */
export async function openTunnel(proxy: Proxy, url: URL, signal: AbortSignal): Promise<Socket> {
  const path = `${url.hostname}:${url.port === '' ? '443' : url.port}`;
  const headers = { host: url.host, ...authorization(proxy.url) };
  const request = limitInformational(requestOf(proxy, { method: 'CONNECT', path, headers, signal }));
  return new Promise((resolve, reject) => {
    const take = ({ statusCode = 0 }: IncomingMessage, socket: Socket, head: Buffer): void => {
      if (statusCode === 200) {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
        return;
      }
      // Without a listener, its error would crash the process.
      socket.on('error', () => undefined).destroy();
      const hint = 'Check the proxy of the environment: HTTPS_PROXY, with user and password if it wants them.';
      reject(new OriginFailure('refused', `the proxy answered ${statusCode}`, hint));
    };
    const fail = (error: Error): void => {
      reject(proxyFailure(error));
    };
    request.on('connect', take).on('error', fail).end();
  });
}

/** The proxy gets none of the credentials for the server. */
function requestOf({ url: { protocol, hostname, port }, ca }: Proxy, options: HTTPOptions): ClientRequest {
  const host = hostname.replace(/^\[|\]$/g, '');
  const all = { ...options, protocol, host, port, maxHeaderSize, agent: false } as const;
  // `rejectUnauthorized` is set so that no environment variable can disable it.
  const trust = { rejectUnauthorized: true, ...(ca !== undefined && { ca: [...rootCertificates, ca] }) };
  return protocol === 'https:' ? requestHTTPS({ ...all, ...trust }) : requestHTTP(all);
}

function authorization({ username, password }: URL): { 'proxy-authorization'?: string } {
  if (username === '' && password === '') return {};
  const credentials = [username, password].map((part) => unescape(part)).join(':');
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };
}
