import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHTTPServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createHTTPSServer, type ServerOptions } from 'node:https';
import { onTestFinished } from 'vitest';
import { Journal } from './journal.ts';

/** A body for a 200 response, a whole response, or a function that handles the request. */
export type Answer =
  string | { status?: number; headers?: Record<string, string>; body?: string | Buffer } | RequestListener;

/** Returns a loopback address that nobody else uses, so that its port is still free when a server restarts. */
export function ownLoopbackAddress(): string {
  return ['127', ...[0, 1, 2].map(() => randomInt(1, 255))].join('.');
}

/** A real web server that answers what the test sets. It stops when the test ends. */
export class WebServer {
  readonly requests = new Journal<IncomingMessage>();
  /** By path. Other paths get `answer`. */
  readonly answers = new Map<string, Answer>();
  answer: Answer = '';
  readonly #tls: ServerOptions | undefined;
  readonly #host: string;
  #server: Server | undefined;
  #port = 0;

  constructor({ tls, host = ownLoopbackAddress() }: { tls?: ServerOptions; host?: string } = {}) {
    this.#tls = tls;
    this.#host = host;
  }

  static async start(options: ConstructorParameters<typeof WebServer>[0] = {}): Promise<WebServer> {
    const server = new WebServer(options);
    await server.start();
    onTestFinished(() => server.stop());
    return server;
  }

  get origin(): string {
    return `${this.#tls === undefined ? 'http' : 'https'}://${this.#host}:${this.#port}`;
  }

  url(path = '/pods.yaml'): string {
    return `${this.origin}${path}`;
  }

  /** Starts it again on the same port after a stop. */
  async start(): Promise<void> {
    const listener: RequestListener = (request, response) => {
      this.requests.add(request);
      const path = new URL(request.url ?? '', this.origin).pathname;
      give(this.answers.get(path) ?? this.answer, request, response);
    };
    this.#server = this.#tls === undefined ? createHTTPServer(listener) : createHTTPSServer(this.#tls, listener);
    this.#server.listen(this.#port, this.#host);
    await once(this.#server, 'listening');
    const address = this.#server.address();
    if (typeof address === 'object' && address !== null) this.#port = address.port;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }
}

function give(answer: Answer, ...[request, response]: Parameters<RequestListener>): void {
  if (typeof answer === 'function') answer(request, response);
  else if (typeof answer === 'string') response.end(answer);
  else response.writeHead(answer.status ?? 200, answer.headers).end(answer.body);
}
