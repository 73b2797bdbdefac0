import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  setMaxIdleHTTPParsers,
} from 'node:http';
import type { Faults } from '../flow/faults.ts';
import { answerClientErrors } from './client-errors.ts';
import { matchPattern } from './match-pattern.ts';

/**
 * Handlers of one server, keyed `GET /path`. `{name}` in a path stands for one part. Other methods and paths are
 * refused. A promise is awaited.
 */
export type Routes = Readonly<Record<string, Route>>;

type Params = Readonly<Record<string, string>>;
type Route = (request: IncomingMessage, response: ServerResponse, params: Params) => unknown;

interface Deps {
  faults: Pick<Faults, 'record'>;
  /** Defaults to `connectionLimit` of this process. */
  maxConnections?: number;
}

/** How often a server checks its connections for clients that exceed these limits, in milliseconds. */
export const connectionsCheckingInterval = 1000;
const clientLimits = {
  headersTimeout: 2000,
  requestTimeout: 5000,
  keepAliveTimeout: 2000,
  connectionsCheckingInterval,
};
const maxHeaderSize = 8 * 1024;
/** Length of the kernel's queue of new connections. The maximum of Linux is 4096. */
const backlog = 4096;
/** Node keeps up to 1000 for new connections, each with the head of its last broken one: megabytes after a flood. */
const maxIdleParsers = 4;

/**
 * An HTTP server for some paths. Answers 500 if a route throws. Node closes connections above the limit, and those of
 * clients that do not send their request in time.
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
      faults.record('server', error);
      if (response.headersSent) response.destroy();
      else sendText(response, 500, 'internal error, see the log of kubelet-ts');
    });
  }, deps);
}

/** A server whose clients are bounded in number and time, as that of `httpServer`. */
export function boundedServer(
  listener: RequestListener,
  { faults, maxConnections = ownConnectionLimit() }: Deps,
): Server {
  setMaxIdleHTTPParsers(maxIdleParsers);
  const server = createServer({ ...clientLimits, maxHeaderSize, noDelay: false }, listener);
  server.maxConnections = maxConnections;
  // One request per connection, because otherwise answers would pile up for a client that sends requests without
  // reading.
  server.maxRequestsPerSocket = 1;
  answerClientErrors(server);
  server.on('error', (error) => {
    // Until the server listens, the caller gets the error.
    if (server.listening) faults.record('server', error);
  });
  return server;
}

function findRoute(
  routes: Routes,
  { method = 'GET', url = '/' }: IncomingMessage,
): { route: Route; params: Params } | undefined {
  const path = url.split('?')[0] ?? '';
  const parts = path.split('/').slice(1).map(decoded);
  if (path !== '/' && parts.includes('')) return undefined;
  for (const [key, route] of Object.entries(routes)) {
    const [wanted, pattern = ''] = key.split(' ');
    const params = wanted === method ? matchPattern(pattern, parts) : undefined;
    if (params !== undefined) return { route, params };
  }
  return undefined;
}

/** Empty for a broken escape. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}

/** Returns a number of connections that leaves most descriptors to the engine. */
export function connectionLimit(maxOpenFiles: number): number {
  return Math.min(2048, Math.max(4, Math.floor(maxOpenFiles / 8)));
}

/** Reads the current limit, because Node raises it to the maximum at start. */
export function ownConnectionLimit(): number {
  const [, soft = '1024'] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  return connectionLimit(Number(soft));
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
