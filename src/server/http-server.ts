import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Faults } from '../flow/faults.ts';

/** Answers of one server by path, keyed `GET /path`; only the methods that are named are served. A promise is waited for. */
export type Routes = Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => unknown>>;

interface Deps {
  faults: Pick<Faults, 'note'>;
  /** By default `connectionLimit` of this process. */
  maxConnections?: number;
}

/** A client has so long to send its request, in milliseconds: head, whole request, and the next one on the same connection. */
const requestTimes = { headersTimeout: 2000, requestTimeout: 5000, keepAliveTimeout: 2000 };
/** Connections that wait to be taken: in a shorter queue a flood lets no other one in for seconds. Linux has 4096 at most. */
const backlog = 4096;
/** How often slow clients are looked for. */
const connectionsCheckingInterval = 1000;
const maxHeaderSize = 8 * 1024;

/**
 * A server for exact paths. A client that is slow or silent costs no other one: the connection that waits longest for its
 * request goes when there are too many. A route that throws answers 500.
 */
export function httpServer(routes: Routes, { faults, maxConnections = ownConnectionLimit() }: Deps): Server {
  const listener: RequestListener = (request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    const route = routes[`${request.method ?? 'GET'} ${path}`];
    if (route === undefined) {
      sendText(response, 404, 'not found');
      return;
    }
    const answer = async (): Promise<void> => {
      await route(request, response);
    };
    answer().catch((error: unknown) => {
      faults.note('server', error);
      if (response.headersSent) response.destroy();
      else sendText(response, 500, 'internal error, the log of kubelet-ts says more');
    });
  };
  const server = createServer({ ...requestTimes, connectionsCheckingInterval, maxHeaderSize }, listener);
  // Answers to requests that are sent without reading any would pile up: whoever asks again connects again.
  server.maxRequestsPerSocket = 1;
  keepWithin(server, maxConnections);
  server.on('error', (error) => {
    // Until it listens, whoever made it hears of it.
    if (server.listening) faults.note('server', error);
  });
  return server;
}

/** So many connections leave most descriptors to the engine. */
export function connectionLimit(maxOpenFiles: number): number {
  return Math.min(256, Math.max(4, Math.floor(maxOpenFiles / 8)));
}

/** Node raises the limit of a process to what it may be when it starts. */
function ownConnectionLimit(): number {
  const [, soft = '1024'] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  return connectionLimit(Number(soft));
}

function keepWithin(server: Server, maxConnections: number): void {
  const open = new Set<Socket>();
  /** Those without a request, longest waiting first. */
  const waiting = new Set<Socket>();
  const forget = (socket: Socket): void => {
    open.delete(socket);
    waiting.delete(socket);
  };
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    waiting.add(socket);
    socket.once('close', () => {
      forget(socket);
    });
    const [longest = socket] = waiting;
    if (open.size <= maxConnections) return;
    forget(longest);
    longest.destroy();
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    waiting.delete(socket);
    response.once('close', () => {
      if (!socket.destroyed) waiting.add(socket);
    });
  });
}

export function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' });
  response.end(`${text}\n`);
}

/** Resolves when the server listens; rejects when it cannot. */
export function listening(server: Server, where: { path: string } | { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...where, backlog }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
