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

/** Shortest time between two looks at the connections, in milliseconds. A client may take so much longer. */
const lookEveryMs = 250;
/** A timer may end so much before its time, in milliseconds. */
const earlyMs = 1;
/** Late connections that one turn of the event loop ends. Each one takes some 0.1 ms of CPU. */
const endedInTurn = 16;

/**
 * Reports late requests as client errors `ERR_HTTP_REQUEST_TIMEOUT`, as Node does. A server without connections has no
 * timer, so that it wakes nobody.
 */
export function limitRequestTimes(server: Server, times: RequestTimes): void {
  const { headersTimeout, requestTimeout, keepAliveTimeout } = times;
  const clients = new Clients(server, headersTimeout);
  const forget = function (this: Socket): void {
    clients.delete(this);
  };
  server.on('setSecureContext' in server ? 'secureConnection' : 'connection', (socket: Socket) => {
    if (socket.destroyed || ('alpnProtocol' in socket && socket.alpnProtocol === 'h2')) return;
    clients.add(socket);
    socket.on('close', forget);
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const client = request.httpVersionMajor === 2 ? undefined : clients.get(request.socket);
    if (client === undefined) return;
    client.request = request;
    clients.allow(client, requestTimeout);
    if (!response.shouldKeepAlive) return;
    response.once('finish', () => {
      if (client.request !== request) return;
      client.request = undefined;
      clients.allow(client, keepAliveTimeout + headersTimeout);
    });
  });
  server.on('upgrade', ({ socket }: IncomingMessage) => {
    clients.delete(socket);
  });
}

/** A connection, and the time until which the next part of a request must have come. */
interface Client {
  readonly socket: Socket;
  /** In milliseconds of `performance.now()`. Infinite after it has passed. */
  until: number;
  /** Bytes that had been read when the time had passed. */
  bytesRead: number;
  /** The newest request whose head has come, until it is answered. */
  request: IncomingMessage | undefined;
}

/**
 * The connections of a server. One timer is for all of them, and a connection is one object: in a flood each
 * microsecond counts.
 */
class Clients {
  private readonly clients = new Map<Socket, Client>();
  private timer: NodeJS.Timeout | undefined;
  /** Time of the next look. */
  private lookAt = Infinity;
  private readonly late = new Set<Client>();

  constructor(
    private readonly server: Server,
    private readonly headersTimeout: number,
  ) {}

  add(socket: Socket): void {
    const client = { socket, until: Infinity, bytesRead: 0, request: undefined };
    this.clients.set(socket, client);
    this.allow(client, this.headersTimeout);
  }

  get(socket: Socket): Client | undefined {
    return this.clients.get(socket);
  }

  delete(socket: Socket): void {
    this.clients.delete(socket);
    if (this.clients.size > 0) return;
    clearTimeout(this.timer);
    this.lookAt = Infinity;
  }

  allow(client: Client, ms: number): void {
    client.until = performance.now() + ms;
    this.late.delete(client);
    if (client.until < this.lookAt) this.lookIn(ms);
  }

  private lookIn(ms: number): void {
    clearTimeout(this.timer);
    this.lookAt = performance.now() + ms;
    this.timer = setTimeout(() => {
      this.look();
    }, ms).unref();
  }

  private look(): void {
    const now = performance.now();
    const before = this.late.size;
    let next = Infinity;
    for (const client of this.clients.values()) {
      if (client.until > now + earlyMs) next = Math.min(next, client.until);
      else {
        client.until = Infinity;
        client.bytesRead = client.socket.bytesRead;
        this.late.add(client);
      }
    }
    this.lookAt = Infinity;
    if (next < Infinity) this.lookIn(Math.max(next - now, lookEveryMs));
    // After the next look of Node for bytes that have come.
    if (before === 0 && this.late.size > before) setImmediate(() => setImmediate(this.endSome));
  }

  /**
   * Hundreds may be late together: they are reported a few at a time, because other clients would wait for 24 ms of
   * CPU. If this process was too busy to read a request that had come, the request is answered.
   */
  private readonly endSome = (): void => {
    let count = 0;
    for (const client of this.late) {
      if (count++ === endedInTurn) break;
      this.late.delete(client);
      const { socket, request, bytesRead } = client;
      if (socket.destroyed || request?.complete === true || !this.clients.has(socket)) continue;
      if (bytesRead === 0 && socket.bytesRead > 0) this.allow(client, this.headersTimeout);
      else this.server.emit('clientError', requestTimeoutError(), socket);
    }
    if (this.late.size > 0) setImmediate(this.endSome);
  };
}

function requestTimeoutError(): NodeJS.ErrnoException {
  return Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
}
