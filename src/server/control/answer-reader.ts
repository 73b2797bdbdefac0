/** Most bytes of an answer's head, as Node has it. */
const maxHeadBytes = 16 * 1024;
/** Most digits of a chunk's size, far beyond any limit of a body. */
const maxSizeDigits = 12;

const lineEnd = '\r\n';

/** An answer that is not the HTTP of an agent. */
export class InvalidAnswerError extends Error {
  override readonly name = 'InvalidAnswerError';
}

/**
 * Reads one HTTP answer from its bytes. Takes what Node's server sends: a head, then a body of a known length, in
 * chunks without extensions or trailers, or up to the end of the connection. Throws an `InvalidAnswerError` for
 * anything else.
 */
export class AnswerReader {
  /** Undefined until the head has arrived. */
  status: number | undefined;
  /** True once the whole answer has arrived. */
  isComplete = false;
  /** Bytes before the next part: the head, or the size of a chunk. */
  #held: Buffer = Buffer.alloc(0);
  #state: 'head' | 'length' | 'size' | 'chunk' | 'chunk-end' | 'last' | 'until-end' = 'head';
  /** Bytes of the body or of the chunk that are still to come. */
  #missing = 0;

  /** Takes the next bytes of the connection, and returns those of the body in them. */
  push(bytes: Buffer): Buffer[] {
    let rest = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    const parts: Buffer[] = [];
    for (;;) {
      const length = rest.length;
      const state = this.#state;
      rest = this.#step(rest, parts);
      if (this.isComplete || (rest.length === length && state === this.#state)) break;
    }
    this.#held = rest;
    return parts;
  }

  /** Must be called when the connection has ended. Returns false if the answer is incomplete. */
  end(): boolean {
    this.isComplete ||= this.#state === 'until-end';
    return this.isComplete;
  }

  /** Returns what it has not used. Without progress, more bytes are needed. */
  #step(rest: Buffer, parts: Buffer[]): Buffer {
    switch (this.#state) {
      case 'head':
        return this.#takeHead(rest);
      case 'size':
        return this.#takeSize(rest);
      case 'length':
      case 'chunk':
        return this.#takeBody(rest, parts);
      case 'chunk-end':
      case 'last':
        return this.#takeLineEnd(rest);
      case 'until-end':
        if (rest.length > 0) parts.push(rest);
        return rest.subarray(rest.length);
    }
  }

  #takeHead(rest: Buffer): Buffer {
    const end = rest.indexOf(lineEnd + lineEnd);
    if (end > maxHeadBytes || (end < 0 && rest.length > maxHeadBytes))
      throw new InvalidAnswerError('the head is too long');
    // Another protocol may never send an empty line.
    if (!'HTTP/1.'.startsWith(rest.toString('latin1', 0, Math.min(rest.length, 7))))
      throw new InvalidAnswerError('no HTTP');
    if (end < 0) return rest;
    const [first = '', ...fields] = rest.toString('latin1', 0, end).split(lineEnd);
    const status = /^HTTP\/1\.[01] ([2-5]\d\d)(?: |$)/.exec(first)?.[1];
    if (status === undefined) throw new InvalidAnswerError('no status');
    this.status = Number(status);
    this.#setBody(new Map(fields.map(fieldOf)));
    return rest.subarray(end + 4);
  }

  #setBody(fields: ReadonlyMap<string, string>): void {
    const length = fields.get('content-length');
    const coding = fields.get('transfer-encoding');
    if (coding !== undefined) {
      if (coding !== 'chunked' || length !== undefined) throw new InvalidAnswerError('the length is not clear');
      this.#state = 'size';
    } else if (length === undefined) {
      this.#state = 'until-end';
    } else {
      if (!/^\d{1,15}$/.test(length)) throw new InvalidAnswerError('the length is not a number');
      this.#expect(Number(length), 'length');
    }
  }

  #expect(bytes: number, state: 'length' | 'chunk'): void {
    this.#state = state;
    this.#missing = bytes;
    if (state === 'length' && bytes === 0) this.isComplete = true;
  }

  #takeSize(rest: Buffer): Buffer {
    const end = rest.indexOf(lineEnd);
    if (end < 0 && rest.length <= maxSizeDigits + 1) return rest;
    const digits = rest.toString('latin1', 0, end < 0 ? maxSizeDigits + 1 : end);
    if (digits.length > maxSizeDigits || !/^[\da-f]+$/i.test(digits))
      throw new InvalidAnswerError('no size of a chunk');
    const size = Number.parseInt(digits, 16);
    if (size === 0) this.#state = 'last';
    else this.#expect(size, 'chunk');
    return rest.subarray(end + 2);
  }

  #takeBody(rest: Buffer, parts: Buffer[]): Buffer {
    const part = rest.subarray(0, this.#missing);
    if (part.length > 0) parts.push(part);
    this.#missing -= part.length;
    if (this.#missing === 0) {
      if (this.#state === 'length') this.isComplete = true;
      else this.#state = 'chunk-end';
    }
    return rest.subarray(part.length);
  }

  /** The line end behind a chunk, and the empty line behind the last one. */
  #takeLineEnd(rest: Buffer): Buffer {
    if (!lineEnd.startsWith(rest.toString('latin1', 0, Math.min(rest.length, 2)))) {
      throw new InvalidAnswerError('a chunk is longer than its size');
    }
    if (rest.length < 2) return rest;
    if (this.#state === 'last') this.isComplete = true;
    else this.#state = 'size';
    return rest.subarray(2);
  }
}

function fieldOf(line: string): [string, string] {
  const at = line.indexOf(':');
  if (at < 1) throw new InvalidAnswerError('a header without a name');
  return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
}
