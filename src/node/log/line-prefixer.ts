const newline = 0x0a;
const lineEnd = Buffer.from('\n');
/** Bytes of a line that are held back. A longer line is several. */
const maxHeld = 256 * 1024;

interface Options {
  /** Changes the text of a line, which has no line end. */
  guard?: ((line: Buffer) => Buffer) | undefined;
}

/** Prefixes each line. Holds back incomplete lines, so that lines of several logs do not mix. */
export class LinePrefixer {
  readonly #prefix: Buffer;
  readonly #guard: (line: Buffer) => Buffer;
  #held: Buffer[] = [];
  #heldBytes = 0;

  constructor(prefix: string, { guard = (line) => line }: Options = {}) {
    this.#prefix = Buffer.from(prefix);
    this.#guard = guard;
  }

  /** Returns the lines that `bytes` completes. */
  add(bytes: Buffer): Buffer {
    const parts: Buffer[] = [];
    let start = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      this.#hold(bytes.subarray(start, end));
      parts.push(...this.#line(), lineEnd);
      start = end + 1;
    }
    // A copy, because the caller may use its buffer again.
    if (start < bytes.length) this.#hold(Buffer.from(bytes.subarray(start)));
    if (this.#heldBytes > maxHeld) parts.push(...this.#line(), lineEnd);
    return Buffer.concat(parts);
  }

  /** Returns the incomplete last line. */
  rest(): Buffer {
    return this.#heldBytes === 0 ? Buffer.alloc(0) : Buffer.concat(this.#line());
  }

  #hold(bytes: Buffer): void {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
  }

  #line(): Buffer[] {
    const line = Buffer.concat(this.#held);
    this.#held = [];
    this.#heldBytes = 0;
    return [this.#prefix, this.#guard(line)];
  }
}
