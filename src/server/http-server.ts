import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  setMaxIdleHTTPParsers,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Faults } from '../flow/faults.ts';
import { acceptMore, backlog } from './accept-more.ts';
import { answerClientErrors } from './client-errors.ts';
import { limitRequestTimes, neverLook, type RequestTimes } from './request-times.ts';
import { WaitingClients } from './waiting-clients.ts';

/**
 * Handlers of one server, keyed `GET /path`. `{name}` in a path stands for one part. Other methods and paths are
 * refused. A promise is awaited.
 */
export type Routes = Readonly<Record<string, Route>>;

type Params = Readonly<Record<string, string>>;
type Route = (request: IncomingMessage, response: ServerResponse, params: Params) => unknown;

interface Deps {
  faults: Pick<Faults, 'note'>;
  /** Defaults to `connectionLimit` of this process. */
  maxConnections?: number;
  /** The command line of this program, which helps in a flood of connections. */
  program?: readonly string[];
}

/** Time until a server prepares for its first flood, in milliseconds: the agent has started its pods. */
const prepareAfterMs = 2000;

const requestTimes: RequestTimes = { headersTimeout: 2000, requestTimeout: 5000, keepAliveTimeout: 2000 };
const maxHeaderSize = 8 * 1024;
/** Node keeps up to 1000 for new connections, each with the head of its last broken one: megabytes after a flood. */
const maxIdleParsers = 4;

/**
 * An HTTP server for some paths. A slow or silent client does not affect others: beyond the limit, the connection is
 * closed that has waited longest for the rest of its request, or else for all of it. A route that throws answers 500.
 */
export function httpServer(routes: Routes, deps: Deps): Server {
  const { faults } = deps;
  return boundedServer((request, response) => {
    const found = findRoute(routes, request);
    if (found === undefined) {
      sendText(response, 404, 'not found');
      return;
    }
    const answer = async (): Promise<void> => {
      await found.route(request, response, found.params);
    };
    answer().catch((error: unknown) => {
      faults.note('server', error);
      if (response.headersSent) response.destroy();
      else sendText(response, 500, 'internal error, see the log of kubelet-ts');
    });
  }, deps);
}

/** A server whose clients are bounded in number and time, as that of `httpServer`. */
export function boundedServer(
  listener: RequestListener,
  { faults, program, maxConnections = ownConnectionLimit() }: Deps,
): Server {
  setMaxIdleHTTPParsers(maxIdleParsers);
  const server = createServer({ ...requestTimes, ...neverLook, maxHeaderSize, noDelay: false }, listener);
  // One request a connection: else answers would pile up for a client that sends requests without reading.
  server.maxRequestsPerSocket = 1;
  const more = acceptMore(server, { faults, program, maxConnections });
  keepWithin(server, maxConnections, more);
  const prepare = (): unknown => (server.listening ? more() : undefined);
  if (program !== undefined) server.once('listening', () => setTimeout(prepare, prepareAfterMs).unref());
  limitRequestTimes(server, requestTimes);
  answerClientErrors(server);
  server.on('error', (error) => {
    // Before the server listens, the caller gets the error.
    if (server.listening) faults.note('server', error);
  });
  return server;
}

function findRoute(
  routes: Routes,
  { method = 'GET', url = '/' }: IncomingMessage,
): { route: Route; params: Params } | undefined {
  const called = `${method} ${url.split('?')[0] ?? ''}`;
  const exact = Object.hasOwn(routes, called) ? routes[called] : undefined;
  if (exact !== undefined) return { route: exact, params: {} };
  for (const [key, route] of Object.entries(routes)) {
    const params = matched(key, called);
    if (params !== undefined) return { route, params };
  }
  return undefined;
}

/** The decoded parts that the key names. Returns undefined if the key does not stand for what is called. */
function matched(key: string, called: string): Params | undefined {
  const [names, parts] = [key.split('/'), called.split('/')];
  if (names.length !== parts.length || !key.includes('{')) return undefined;
  const params: Record<string, string> = {};
  for (const [index, name] of names.entries()) {
    const part = parts[index] ?? '';
    if (!name.startsWith('{')) {
      if (name !== part) return undefined;
      continue;
    }
    const value = decoded(part);
    if (value === undefined || value === '') return undefined;
    params[name.slice(1, -1)] = value;
  }
  return params;
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** Number of connections that leaves most descriptors to the engine. */
export function connectionLimit(maxOpenFiles: number): number {
  return Math.min(256, Math.max(4, Math.floor(maxOpenFiles / 8)));
}

/** Reads the current limit, because Node raises it to the maximum at start. */
export function ownConnectionLimit(): number {
  const [, soft = '1024'] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  return connectionLimit(Number(soft));
}

function keepWithin(server: Server, maxConnections: number, onFlood: () => unknown): void {
  const open = new Set<Socket>();
  const waiting = new WaitingClients<Socket>();
  const forget = (socket: Socket): void => {
    open.delete(socket);
    waiting.delete(socket);
  };
  // One function for all: in a flood each microsecond counts.
  const onClose = function (this: Socket): void {
    forget(this);
  };
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    waiting.add(socket);
    socket.on('close', onClose);
    if (open.size <= maxConnections) return;
    onFlood();
    const closed = waiting.first() ?? socket;
    forget(closed);
    closed.destroy();
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

/** Resolves when the server listens. Rejects if it cannot. */
export function listening(server: Server, where: { path: string } | { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...where, backlog }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
