import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

/** A request that reached the server. */
export interface StreamRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
}

/**
 * A runtime's streaming server: accepts every upgrade, greets and then echoes. It chooses the first protocol that is
 * offered, and refuses one whose name starts with `refuse`.
 */
export class FakeStreamingServer {
  readonly requests: StreamRequest[] = [];
  readonly #server: Server = createServer();
  readonly #sockets = new Set<Duplex>();

  async start(): Promise<void> {
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined).once('close', () => this.#sockets.delete(socket));
      this.#take(request, socket, head);
    });
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Number of open streams. */
  get open(): number {
    return this.#sockets.size;
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #take(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { method = '', url = '', headers } = request;
    this.requests.push({ method, path: url, headers });
    const answers: [string, string | undefined][] = [
      ['X-Stream-Protocol-Version', firstOf(headers['x-stream-protocol-version'])],
      ['Sec-WebSocket-Protocol', firstOf(headers['sec-websocket-protocol'])],
    ];
    const chosen = answers.flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
    if (answers.some(([, value]) => value?.startsWith('refuse'))) {
      const body = 'no protocol in common\n';
      socket.end(
        `HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
      );
      return;
    }
    const lines = ['Connection: Upgrade', `Upgrade: ${headers.upgrade ?? ''}`, ...chosen, 'X-Runtime: fake'];
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('\r\n')}\r\n\r\nhello from the runtime\n`);
    if (head.length > 0) socket.write(head);
    socket.pipe(socket);
  }
}

/** Returns the first word of a list in a header. */
const firstOf = (header: string | string[] | undefined): string | undefined => header?.toString().split(',')[0]?.trim();
