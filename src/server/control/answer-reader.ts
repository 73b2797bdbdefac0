import { HTTPParser } from 'http-parser-js';

/** Most bytes of an answer's head, as Node has it, and between two parts of its body. */
const maxHeadBytes = 16 * 1024;

/** An answer that is not the HTTP of an agent. */
export class InvalidAnswerError extends Error {
  override readonly name = 'InvalidAnswerError';
}

/**
 * Reads one HTTP answer from its bytes: a head, then a body of a known length, in chunks, or up to the end of the
 * connection.
 */
export class AnswerReader {
  /** Undefined until the head has arrived. */
  status: number | undefined;
  /** True once the whole answer has arrived. */
  isComplete = false;
  readonly #parser = new HTTPParser(HTTPParser.RESPONSE);
  /** Bytes of the body that `push` has found. */
  #parts: Buffer[] = [];
  /** Bytes since the last ones of the body. */
  #betweenParts = 0;

  constructor() {
    this.#parser[HTTPParser.kOnHeadersComplete] = ({ statusCode, headers }) => {
      this.#takeHead(statusCode, headers);
    };
    this.#parser[HTTPParser.kOnBody] = (bytes, offset, length) => {
      if (length < 0) throw new InvalidAnswerError('a chunk of a negative size');
      this.#parts.push(bytes.subarray(offset, offset + length));
    };
    this.#parser[HTTPParser.kOnMessageComplete] = () => {
      this.isComplete = true;
    };
  }

  /**
   * Takes the next bytes of the connection, and returns those of the body in them. Bytes behind the answer are ignored.
   * Throws an `InvalidAnswerError` if they are not HTTP.
   */
  push(bytes: Buffer): Buffer[] {
    this.#parts = [];
    const result = this.#parser.execute(bytes);
    if (this.isComplete) return this.#parts;
    if (result instanceof Error) throw new InvalidAnswerError('this is not HTTP', { cause: result });
    this.#betweenParts = this.#parts.length > 0 ? 0 : this.#betweenParts + bytes.length;
    if (this.#betweenParts > maxHeadBytes) throw new InvalidAnswerError('the head is too long');
    return this.#parts;
  }

  /** Must be called when the connection has ended. Returns false if the answer is incomplete. */
  end(): boolean {
    this.#parser.finish();
    return this.isComplete;
  }

  #takeHead(status: number, headers: readonly string[]): void {
    // A second answer on the connection.
    if (this.isComplete) return;
    if (status < 200) throw new InvalidAnswerError('no status');
    const lengthAt = headers.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === 'content-length');
    if (lengthAt >= 0 && !/^\d{1,15}$/.test(headers[lengthAt + 1] ?? '')) {
      throw new InvalidAnswerError('the length is not a number');
    }
    this.status = status;
  }
}
