import { constants } from 'node:crypto';
import { createServer as createHTTPServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import { createServer as createHTTPSServer } from 'node:https';
import type { Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import type { Faults } from '../../flow/faults.ts';
import { hasCode, UserError } from '../../errors.ts';
import { countedPaths, type CountedServer, type HTTPCounts } from '../metrics/http-counts.ts';
import { answerClientErrors } from '../client-errors.ts';
import { connectionsCheckingInterval, listening, ownConnectionLimit } from '../http-server.ts';
import { send } from './answers.ts';
import { type Access, apiHandler } from './api-handler.ts';
import { upgrades } from './forward-stream.ts';
import { addHTTP2 } from './http2.ts';
import { maxSilenceMs } from './max-silence.ts';
import { answerPlainRequests } from './plain-requests.ts';
import { deferContinue } from './request-body.ts';
import { RequestQueue } from './request-queue.ts';
import type { Mount } from './route-table.ts';
import type { ServingPair } from './serving-certificate.ts';
import type { TLSLimits } from './tls-options.ts';

const times = { headersTimeout: 5000, requestTimeout: 30_000, keepAliveTimeout: 90_000 };
/** Limit on a handshake in milliseconds. */
const handshakeTimeout = 5000;
/** The handler checks the Host header itself. */
const limitsOfHTTP1 = { connectionsCheckingInterval, maxHeaderSize: 32 * 1024, requireHostHeader: false };
/** Closes connections of clients that disappeared silently. Streams may be silent. kubelet: Go's net ListenConfig */
const keepAlive = { keepAlive: true, keepAliveInitialDelay: 15_000 };

interface ServerRequest {
  address: string;
  port: number;
  mounts: readonly Mount[];
  faults: Pick<Faults, 'record'>;
  counts: Pick<HTTPCounts, 'began'>;
}

export interface SecureServerRequest extends ServerRequest {
  /** Called for each request. */
  access: () => Access;
  pair: ServingPair;
  /** Certificates in PEM that sign those of clients. Absent if clients show none. */
  clientCA?: string;
  limits: TLSLimits;
}

/** A server whose serving pair can be replaced while it runs. */
export interface SecureServer {
  server: Server;
  /** Applies another serving pair and other client CAs to later connections. */
  replace(pair: ServingPair, clientCA: string | undefined): void;
  /** Stops the server and closes all its connections. */
  close(): void;
}

/**
 * Serves the API over HTTPS. Rejects with a `UserError` if the port is in use. kubelet: server/server.go
 * ListenAndServeKubeletServer
 */
export async function serveSecure(request: SecureServerRequest): Promise<SecureServer> {
  const { access, limits } = request;
  const context = (pair: ServingPair, clientCA: string | undefined): SecureContextOptions => ({
    ...pair,
    ...limits,
    // Without a client CA, a server would trust those of the system.
    ca: clientCA ?? [],
    // A resumed session would skip the check of the client's certificate.
    ...(clientCA !== undefined && { secureOptions: constants.SSL_OP_NO_TICKET }),
  });
  const hasClientCA = request.clientCA !== undefined;
  const server = createHTTPSServer({
    ...context(request.pair, request.clientCA),
    handshakeTimeout,
    ...times,
    ...keepAlive,
    ...limitsOfHTTP1,
    requestCert: hasClientCA,
    // A wrong certificate is answered with 401.
    rejectUnauthorized: false,
    ALPNProtocols: ['h2', 'http/1.1'],
  });
  const limitsOfHTTP2 = { maxRequests: ownConnectionLimit(), maxSilenceMs, idleMs: times.keepAliveTimeout };
  answerPlainRequests(server);
  const endHTTP2 = addHTTP2(server, limitsOfHTTP2);
  await open(server, request, access);
  return {
    server,
    replace: (pair, clientCA) => {
      server.setSecureContext(context(pair, clientCA));
    },
    close: () => {
      server.close();
      server.closeAllConnections();
      endHTTP2();
    },
  };
}

/**
 * Serves the API without TLS and authentication, for reading. kubelet: server/server.go
 * ListenAndServeKubeletReadOnlyServer
 */
export async function serveReadOnly(request: ServerRequest): Promise<Server> {
  const server = createHTTPServer({ ...times, ...keepAlive, ...limitsOfHTTP1 });
  await open(server, request, undefined);
  return server;
}

async function open(
  server: Server,
  { address, port, mounts, faults, counts }: ServerRequest,
  access: (() => Access) | undefined,
): Promise<void> {
  const handle = apiHandler({ mounts, faults, ...(access && { access }) });
  const counted: CountedServer = { type: access === undefined ? 'readonly' : 'readwrite', paths: countedPaths(mounts) };
  const turns = new RequestQueue();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    turns.enqueue(request, () => {
      response.once('close', counts.began(request, counted));
      handle(request, response);
      return response;
    });
  });
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    deferContinue(request, response);
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    turns.enqueue(request, () => {
      send(response, 417, { connection: 'close' }, '');
      return response;
    });
  });
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    // A broken connection aborts the answer.
    socket.on('error', () => undefined);
    // Node does not go on with an answer that is unfinished now. Hardly any client asks so early.
    if (turns.isBusy(socket)) {
      socket.destroy();
      return;
    }
    socket.once('close', counts.began(request, counted));
    // Node takes its own limit off the connection.
    socket.setTimeout(maxSilenceMs, () => socket.destroy());
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    // Node takes its listener for this off too.
    socket.on('drain', () => response.emit('drain'));
    // Not for a stream, whose connection leaves its answer. A client may never close its side.
    response.once('finish', () => {
      socket.destroySoon();
    });
    upgrades.set(response, { socket, head });
    handle(request, response);
  });
  server.maxConnections = ownConnectionLimit();
  answerClientErrors(server);
  server.setTimeout(maxSilenceMs);
  server.on('error', (error) => {
    // Until the server listens, the caller gets the error.
    if (server.listening) faults.record('api', error);
  });
  try {
    await listening(server, { host: address, port });
  } catch (error) {
    if (!hasCode(error, 'EADDRINUSE')) throw error;
    throw new UserError(`the API cannot listen on ${address}:${port}: the port is in use`, {
      hint: 'Is a kubelet running already? Choose another --port, or --enable-server=false.',
      cause: error,
    });
  }
  server.unref();
}
