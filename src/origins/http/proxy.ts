import {
  type ClientRequest,
  type IncomingMessage,
  request as requestHTTP,
  type RequestOptions as HTTPOptions,
} from 'node:http';
import { request as requestHTTPS } from 'node:https';
import type { Socket } from 'node:net';
import { unescape } from 'node:querystring';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import { limitInformational } from '../../engine/network/http-get.ts';

/** The longest head of an answer. */
const maxHeaderSize = 16 * 1024;

/** A request for the whole URL, which a proxy sends on. For a server without TLS. */
export function requestByProxy(proxy: URL, url: URL, options: HTTPOptions): ClientRequest {
  const headers = { host: url.host, ...(options.headers as object), ...authorization(proxy) };
  return requestOf(proxy, { ...options, path: url.href, headers });
}

/**
 * Opens a connection to the server of a URL by way of a proxy. Rejects with an OriginFailure if the proxy refuses, and
 * with the error of the connection to the proxy. That connection ends with the signal until this resolves.
 */
export async function openTunnel(proxy: URL, url: URL, signal: AbortSignal): Promise<Socket> {
  const path = `${url.hostname}:${url.port === '' ? '443' : url.port}`;
  const headers = { host: url.host, ...authorization(proxy) };
  const request = limitInformational(requestOf(proxy, { method: 'CONNECT', path, headers, signal }));
  return new Promise((resolve, reject) => {
    const take = ({ statusCode = 0 }: IncomingMessage, socket: Socket, head: Buffer): void => {
      if (statusCode === 200) {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
        return;
      }
      // Without a listener its error would end the process.
      socket.on('error', () => undefined).destroy();
      const hint = 'Check the proxy of the environment: HTTPS_PROXY, with user and password if it wants them.';
      reject(new OriginFailure('refused', `the proxy answered ${statusCode}`, hint));
    };
    request.on('connect', take).on('error', reject).end();
  });
}

/** The proxy gets none of the credentials for the server. */
function requestOf({ protocol, hostname, port }: URL, options: HTTPOptions): ClientRequest {
  const host = hostname.replace(/^\[|\]$/g, '');
  const all = { ...options, protocol, host, port, maxHeaderSize, agent: false } as const;
  // `rejectUnauthorized` is set so that no environment variable can disable it.
  return protocol === 'https:' ? requestHTTPS({ ...all, rejectUnauthorized: true }) : requestHTTP(all);
}

function authorization({ username, password }: URL): { 'proxy-authorization'?: string } {
  if (username === '' && password === '') return {};
  const credentials = [username, password].map((part) => unescape(part)).join(':');
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };
}
