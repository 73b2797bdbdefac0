import { type Agent, type IncomingMessage, type OutgoingHttpHeaders, request as requestHTTP } from 'node:http';
import { request as requestHTTPS } from 'node:https';
import { limitInformational } from '../../network/http-get.ts';

/** Who we are to a server, and whom we believe; PEM. */
export interface TLSOptions {
  /** In place of the well-known authorities. */
  ca?: string;
  cert?: string;
  key?: string;
}

export interface HTTPRequest {
  url: URL;
  headers: OutgoingHttpHeaders;
  tls: TLSOptions;
  /** URL of the proxy; undefined: none. */
  proxy: string | undefined;
  signal: AbortSignal;
}

/**
 * Sends a GET request on a connection of its own. Resolves to the answer with its body unread, which ends with an error
 * when it is cut. Rejects with the error of the connection, or with some error once the signal is aborted.
 */
export async function getRequest({ url, headers, tls, proxy, signal }: HTTPRequest): Promise<IncomingMessage> {
  const agent = await agentFor(url, proxy);
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? requestHTTPS : requestHTTP;
    // Said here, so that no variable of the environment can say otherwise.
    const request = limitInformational(send(url, { ...tls, rejectUnauthorized: true, agent, headers, signal }));
    request.on('response', resolve).on('error', reject).end();
  });
}

async function agentFor(url: URL, proxy: string | undefined): Promise<Agent | false> {
  if (proxy === undefined) return false;
  const { HttpProxyAgent, HttpsProxyAgent } = await import('./proxy-agents.ts');
  return url.protocol === 'https:' ? new HttpsProxyAgent(proxy) : new HttpProxyAgent(proxy);
}
