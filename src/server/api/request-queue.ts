import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Maximum waiting requests per connection. Hardly any client sends a request before it has the previous answer. */
const maxWaiting = 16;

/** Handles a request, and returns its answer. */
type Begin = () => ServerResponse;

/**
 * Handles the requests of each connection one after another. The next one starts when the previous answer has been
 * sent. Node itself would start all requests of one read at once: thousands of them. Closes a connection with too many
 * waiting requests. Starts nothing after the last answer of a connection. HTTP/2 has a separate limit, so its requests
 * start at once. kubelet: Go's net/http conn.serve
 */
export class RequestQueue {
  /** Waiting requests, for each connection that handles one. */
  private readonly waiting = new WeakMap<Socket, Begin[]>();

  /** Calls `begin` at once or when its turn comes. Never calls it if an answer can no longer be sent. */
  enqueue({ socket, httpVersionMajor }: IncomingMessage, begin: Begin): void {
    if (httpVersionMajor === 2) {
      begin();
      return;
    }
    // An answer can no longer be sent.
    if (!socket.writable) return;
    const queue = this.waiting.get(socket);
    if (queue === undefined) {
      this.waiting.set(socket, []);
      this.run(socket, begin);
    } else if (queue.push(begin) > maxWaiting) socket.destroy();
  }

  /** True while a request of the connection is handled. */
  isBusy(socket: Socket): boolean {
    return this.waiting.has(socket);
  }

  private run(socket: Socket, begin: Begin): void {
    begin().once('close', () => {
      const next = socket.writable ? this.waiting.get(socket)?.shift() : undefined;
      if (next === undefined) this.waiting.delete(socket);
      else this.run(socket, next);
    });
  }
}
