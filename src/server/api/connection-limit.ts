import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Keeps a server within a number of connections, handshakes included: beyond it, calls `onFlood` and closes the
 * connection that has waited longest for a request. The address of the client identifies a connection, because a TLS
 * socket does not name the socket below it.
 */
export function limitConnections(server: Server, maxConnections: number, onFlood: () => unknown): void {
  const open = new Map<string, Socket>();
  /** Connections without a request, longest waiting first. */
  const waiting = new Set<string>();
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    open.set(peer, socket);
    waiting.add(peer);
    socket.once('close', () => {
      if (open.get(peer) !== socket) return;
      open.delete(peer);
      waiting.delete(peer);
    });
    const [longest = peer] = waiting;
    if (open.size <= maxConnections) return;
    onFlood();
    open.get(longest)?.destroy();
    open.delete(longest);
    waiting.delete(longest);
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const peer = peerOf(socket);
    waiting.delete(peer);
    response.once('close', () => {
      if (open.has(peer)) waiting.add(peer);
    });
  });
  server.on('upgrade', ({ socket }: IncomingMessage) => {
    waiting.delete(peerOf(socket));
  });
}

const peerOf = ({ remoteAddress = '', remotePort = 0 }: Socket): string => `${remoteAddress} ${remotePort}`;
