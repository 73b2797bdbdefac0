import { connect, type Socket } from 'node:net';
import { AnswerReader } from './answer-reader.ts';

export interface Request {
  socketPath: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Without characters that a URL must escape. */
  path: string;
  body?: Uint8Array | undefined;
  /** The client in the log of the agent. */
  clientName: string;
}

/**
 * One HTTP request on a connection of its own, and its answer. Node's client would take 4 ms more
 * (docs/decisions/2026-11-23-control-client.md).
 */
export class Exchange {
  /** The error that `destroy` got. */
  reason: Error | undefined;
  readonly #socket: Socket;
  readonly #bytes: AsyncIterator<Buffer>;
  readonly #reader = new AnswerReader();
  /** Parts of the body that came with the head. */
  #early: Buffer[] = [];

  constructor({ socketPath, method, path, body, clientName }: Request) {
    if (/[^!-~]/.test(path)) throw new Error(`the path ${JSON.stringify(path)} is not escaped`);
    this.#socket = connect(socketPath);
    // An error must not end the process, even if nothing reads.
    this.#socket.on('error', () => undefined);
    this.#bytes = this.#socket[Symbol.asyncIterator]();
    const length = method === 'GET' ? [] : [`content-length: ${body?.length ?? 0}`];
    const fields = ['host: localhost', `user-agent: ${clientName}`, 'connection: close', ...length];
    this.#socket.write([`${method} ${path} HTTP/1.1`, ...fields, '', ''].join('\r\n'));
    if (body !== undefined) this.#socket.write(body);
  }

  /** Resolves at the end of the head. Rejects with the error of the connection, of the answer, or of `destroy`. */
  async status(): Promise<number> {
    for (;;) {
      const { status } = this.#reader;
      if (status !== undefined) return status;
      const part = await this.#bytes.next();
      if (part.done === true) throw lost();
      this.#early.push(...this.#reader.push(part.value));
    }
  }

  /** Yields the body, behind `status`. Rejects as that. */
  async *body(): AsyncGenerator<Buffer, void> {
    yield* this.#early;
    this.#early = [];
    while (!this.#reader.isComplete) {
      const part = await this.#bytes.next();
      if (part.done !== true) yield* this.#reader.push(part.value);
      else if (!this.#reader.end()) throw lost();
    }
  }

  /** Ends the exchange when no byte arrives for so long. */
  setTimeout(ms: number): void {
    this.#socket.setTimeout(ms, () => {
      this.destroy(new Error('no further data arrived'));
    });
  }

  destroy(reason?: Error): void {
    this.reason ??= reason;
    this.#socket.destroy(reason);
  }
}

/** As if the kernel had reported it. */
function lost(): Error {
  return Object.assign(new Error('the connection has ended'), { code: 'ECONNRESET' });
}
