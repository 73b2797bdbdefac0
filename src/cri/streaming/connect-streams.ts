import { UserError } from '../../errors.ts';
import { ConnectionRefused } from './connect-errors.ts';
import { openSpdy, type SpdyStreams } from './spdy-connection.ts';
import type { StreamConnection } from './stream-connection.ts';
import { openWebSocket } from './websocket-connection.ts';

export interface StreamsRequest {
  /** What the runtime should do, as error messages name it: `run the command`. */
  job: string;
  /** Requests a URL from the runtime. Each URL can be used for one connection. */
  requestURL: () => Promise<string>;
  spdy: SpdyStreams;
  /** Protocols over WebSocket, preferred first. */
  webSocketProtocols: readonly string[];
  signal?: AbortSignal | undefined;
}

/**
 * Connects over SPDY/3.1, as kubectl and crictl do, or else over WebSocket. SPDY comes first because every streaming
 * server supports it and it can end one direction and keep the other. Rejects with a `UserError` if the runtime offers
 * neither.
 */
export async function connectStreams(request: StreamsRequest): Promise<StreamConnection> {
  const { job, spdy, webSocketProtocols, signal } = request;
  const nextURL = async (): Promise<URL> => streamingURL(await request.requestURL(), job);
  try {
    return await openSpdy(await nextURL(), spdy, signal);
  } catch (error) {
    if (!(error instanceof ConnectionRefused)) throw error;
  }
  try {
    return await openWebSocket(await nextURL(), webSocketProtocols, signal);
  } catch (error) {
    if (!(error instanceof ConnectionRefused)) throw error;
    throw new UserError(`the container runtime refused to ${job}: ${error.message}`, { cause: error });
  }
}

function streamingURL(text: string, job: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && ['http:', 'https:'].includes(url.protocol)) return url;
  throw new UserError(
    `the container runtime was asked to ${job} and answered "${text}", expected an http or https URL`,
    { hint: 'Set the address of the streaming server in the configuration of the container runtime.' },
  );
}
