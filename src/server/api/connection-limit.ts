import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Keeps a server within a number of connections, handshakes included: beyond it, calls `onFlood` and closes the
 * connection that has waited longest for a request. The address of the client identifies a connection, because a TLS
 * socket does not name the socket below it.
 */
export function limitConnections(server: Server, maxConnections: number, onFlood: () => unknown): void {
  const open = new Map<string, Client>();
  /** Connections without a request, longest waiting first. */
  const waiting = new Set<string>();
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    const client = { socket, requests: 0 };
    open.set(peer, client);
    waiting.add(peer);
    socket.once('close', () => {
      if (open.get(peer) !== client) return;
      open.delete(peer);
      waiting.delete(peer);
    });
    const [longest = peer] = waiting;
    if (open.size <= maxConnections) return;
    onFlood();
    open.get(longest)?.socket.destroy();
    open.delete(longest);
    waiting.delete(longest);
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const peer = peerOf(socket);
    const client = open.get(peer);
    if (client === undefined) return;
    client.requests += 1;
    waiting.delete(peer);
    response.once('close', () => {
      client.requests -= 1;
      if (client.requests === 0 && open.get(peer) === client) waiting.add(peer);
    });
  });
  server.on('upgrade', ({ socket }: IncomingMessage) => {
    waiting.delete(peerOf(socket));
  });
}

interface Client {
  socket: Socket;
  /** Those without a whole answer. A connection of HTTP/2 has several at a time. */
  requests: number;
}

const peerOf = ({ remoteAddress = '', remotePort = 0 }: Socket): string => `${remoteAddress} ${remotePort}`;
