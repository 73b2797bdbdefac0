import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * A socket in front of the socket of a container runtime. It understands nothing of what it passes on, and can stop to
 * pass anything on, as a runtime that hangs, or cut every connection.
 */
export class RuntimeProxy {
  readonly endpoint: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isHung = false;

  private constructor(path: string, target: string) {
    this.endpoint = `unix://${path}`;
    this.#server = createServer({ allowHalfOpen: true }, (client) => {
      this.#join(client, connect({ path: target, allowHalfOpen: true }));
    });
  }

  static async listen(path: string, target: string): Promise<RuntimeProxy> {
    const proxy = new RuntimeProxy(path, target);
    proxy.#server.listen(path);
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** Nothing goes through any more; connections are taken, and stay silent. */
  hang(): void {
    this.#isHung = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Goes on with all that came meanwhile. */
  resume(): void {
    this.#isHung = false;
    for (const socket of this.#sockets) socket.resume();
  }

  /** Ends every connection; what the runtime was asked for, it may do or not. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, 'close');
  }

  #join(client: Socket, runtime: Socket): void {
    for (const [from, to] of [
      [client, runtime],
      [runtime, client],
    ] as const) {
      this.#sockets.add(from);
      from.on('data', (chunk) => to.write(chunk));
      from.on('end', () => to.end());
      // What fails ends: the other side learns it by the close.
      from.on('error', () => undefined);
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroySoon();
      });
      if (this.#isHung) from.pause();
    }
  }
}
