import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Limits on a client in milliseconds: for a head, for the rest of its request, and until the next request. */
export interface RequestTimes {
  headersTimeout: number;
  requestTimeout: number;
  keepAliveTimeout: number;
}

/** For `createServer`. Node would look for late requests in every period, also without a connection. */
export const neverLook = { connectionsCheckingInterval: 2 ** 31 - 1 };

/** Late connections that one turn of the event loop ends. Each one takes some 0.1 ms of CPU. */
const endedInTurn = 16;

/**
 * Reports late requests as client errors `ERR_HTTP_REQUEST_TIMEOUT`, as Node does. Each connection has a timer, so that
 * a server without connections wakes nobody. Hundreds may be late together: they are reported a few at a time, because
 * other clients would wait for 24 ms of CPU. If this process was too busy to read a request that had come, the request
 * is answered.
 */
export function limitRequestTimes(server: Server, times: RequestTimes): void {
  const { headersTimeout, requestTimeout, keepAliveTimeout } = times;
  const clients = new WeakMap<Socket, Client>();
  const late = new Map<Client, { bytesRead: number }>();
  const endSome = (): void => {
    for (const [client, { bytesRead }] of [...late].slice(0, endedInTurn)) {
      late.delete(client);
      if (!client.isLate) continue;
      if (bytesRead === 0 && client.socket.bytesRead > 0) client.allow(headersTimeout);
      else server.emit('clientError', requestTimeoutError(), client.socket);
    }
    if (late.size > 0) setImmediate(endSome);
  };
  // After the next look of Node for bytes that have come.
  const endSoon = (): void => void setImmediate(() => setImmediate(endSome));
  server.on('setSecureContext' in server ? 'secureConnection' : 'connection', (socket: Socket) => {
    if ('alpnProtocol' in socket && socket.alpnProtocol === 'h2') return;
    const client = new Client(socket, () => {
      late.set(client, { bytesRead: socket.bytesRead });
      if (late.size === 1) endSoon();
    });
    clients.set(socket, client);
    client.allow(headersTimeout);
    socket.once('close', () => {
      client.stop();
    });
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const client = request.httpVersionMajor === 2 ? undefined : clients.get(request.socket);
    if (client === undefined) return;
    client.request = request;
    client.allow(requestTimeout);
    response.once('finish', () => {
      if (client.request !== request) return;
      client.request = undefined;
      client.allow(keepAliveTimeout + headersTimeout);
    });
  });
  server.on('upgrade', ({ socket }: IncomingMessage) => {
    clients.get(socket)?.stop();
  });
}

function requestTimeoutError(): NodeJS.ErrnoException {
  return Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
}

/** A connection, and the time until which the next part of a request must have come. */
class Client {
  /** The newest request whose head has come, until it is answered. */
  request: IncomingMessage | undefined;
  private timer: NodeJS.Timeout | undefined;
  private hasPassed = false;

  constructor(
    readonly socket: Socket,
    private readonly onLate: () => void,
  ) {}

  /** False while a request that has come whole is answered. */
  get isLate(): boolean {
    return this.hasPassed && !this.socket.destroyed && this.request?.complete !== true;
  }

  allow(ms: number): void {
    this.stop();
    if (this.socket.destroyed) return;
    this.timer = setTimeout(() => {
      this.hasPassed = true;
      if (this.isLate) this.onLate();
    }, ms).unref();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.hasPassed = false;
  }
}
