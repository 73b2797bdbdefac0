import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { createWebSocketStream, WebSocketServer } from 'ws';
import { upgrades } from './forward-stream.ts';
import type { Call } from './route-table.ts';

/** Longest message of a client. kubectl sends up to 32 KiB. */
const maxPayload = 1024 * 1024;

/** A connection to a client whose messages are written and read one by one. */
export interface ClientSocket {
  stream: Duplex;
  /** Says that all was sent, and ends. */
  close(): void;
}

/**
 * Accepts a WebSocket with this protocol. Answers and returns undefined if the request is not a correct handshake.
 * kubelet: x/net/websocket hybi.go ReadHandshake
 */
export async function acceptWebSocket(
  { request, response }: Pick<Call, 'request' | 'response'>,
  protocol: string,
  idleTimeoutMs: number,
): Promise<ClientSocket | undefined> {
  const upgraded = upgrades.get(response);
  if (upgraded === undefined) return undefined;
  const { socket, head } = upgraded;
  response.detachSocket(socket);
  const refusal = refusalOf(request);
  if (refusal !== undefined) {
    socket.end(refusal);
    return undefined;
  }
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload });
  // Protocols of Kubernetes may have a slash, which ws refuses.
  delete request.headers['sec-websocket-protocol'];
  server.on('headers', (headers) => headers.push(`Sec-WebSocket-Protocol: ${protocol}`));
  return new Promise((resolve) => {
    socket.once('close', () => {
      resolve(undefined);
    });
    server.handleUpgrade(request, socket, head, (client) => {
      socket.setTimeout(idleTimeoutMs, () => socket.destroy());
      const stream = createWebSocketStream(client, { readableObjectMode: true });
      // Reported by reads and writes.
      stream.on('error', () => undefined);
      resolve({
        stream,
        close: () => {
          client.close(1000);
        },
      });
    });
  });
}

/** Undefined for a handshake that can be accepted. */
function refusalOf({ method, headers }: IncomingMessage): string | undefined {
  if (method !== 'GET') return answer('405 Method Not Allowed', 'bad method');
  if (headers['sec-websocket-key'] === undefined) return answer('400 Bad Request', 'mismatch challenge/response');
  if (headers['sec-websocket-version'] === '13') return undefined;
  return answer('400 Bad Request', 'missing or bad WebSocket Version', 'Sec-WebSocket-Version: 13\r\n');
}

const answer = (status: string, text: string, headers = ''): string => `HTTP/1.1 ${status}\r\n${headers}\r\n${text}`;
