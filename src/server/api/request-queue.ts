import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of one connection that may wait. Hardly any client sends a request before it has the answer before. */
const maxWaiting = 16;

/** Handles a request, and returns its answer. */
type Begin = () => ServerResponse;

/**
 * Handles the requests of each connection one after another. The next one begins when the answer before it has been
 * sent. Node alone would begin all requests of one read at once: thousands of them. A connection with too many that
 * wait is closed. Nothing begins after the last answer of a connection. HTTP/2 has its own limit, so its requests begin
 * at once. kubelet: Go's net/http conn.serve
 */
export class RequestQueue {
  /** Requests that wait, for each connection with one that has begun. */
  private readonly waiting = new WeakMap<Socket, Begin[]>();

  /** Calls `begin` at once or when its turn comes. Never calls it if no answer can be sent any more. */
  enqueue({ socket, httpVersionMajor }: IncomingMessage, begin: Begin): void {
    if (httpVersionMajor === 2) {
      begin();
      return;
    }
    // No answer could be sent any more.
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
