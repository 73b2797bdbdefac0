import { type ClientRequest, type IncomingMessage, request } from 'node:http';

export interface Request {
  socketPath: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Escaped, as in a URL. */
  path: string;
  body?: Uint8Array | undefined;
  /** The client in the log of the agent. */
  clientName: string;
}

/** One HTTP request to the agent on its own connection, and the response. */
export class Exchange {
  /** The error that `destroy` got. */
  reason: Error | undefined;
  private readonly request: ClientRequest;
  private readonly response: Promise<IncomingMessage>;

  constructor({ socketPath, method, path, body, clientName }: Request) {
    const length = method === 'GET' ? {} : { 'content-length': body?.length ?? 0 };
    const headers = { 'user-agent': clientName, ...length };
    this.request = request({ socketPath, method, path, agent: false, headers });
    this.response = new Promise((resolve, reject) => {
      this.request.once('response', resolve).on('error', reject);
      this.request.once('close', () => {
        reject(this.reason ?? new Error('the connection was closed'));
      });
    });
    // An error must not stop the process, even if nothing reads.
    this.response.catch(() => undefined);
    this.request.end(body);
  }

  /** Resolves at the end of the headers. Rejects with the error of the connection, of the response, or of `destroy`. */
  async status(): Promise<number> {
    const { statusCode = 0 } = await this.response;
    return statusCode;
  }

  /** Yields the body. Rejects as `status`. */
  async *body(): AsyncGenerator<Buffer, void> {
    try {
      yield* (await this.response) as AsyncIterable<Buffer>;
    } catch (error) {
      throw this.reason ?? error;
    }
  }

  /** Destroys the exchange if no byte arrives for this long. */
  setTimeout(ms: number): void {
    this.request.setTimeout(ms, () => {
      this.destroy(new Error('no more data arrived'));
    });
  }

  destroy(reason?: Error): void {
    this.reason ??= reason;
    this.request.destroy(reason);
  }
}
