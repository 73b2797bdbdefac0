const newline = 0x0a;

/** Puts a prefix before each line and holds back a line until it is whole, so that lines of several logs do not mix. */
export class LinePrefixer {
  readonly #prefix: Buffer;
  #incomplete: Buffer = Buffer.alloc(0);

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix);
  }

  /** The lines that `bytes` makes whole. */
  add(bytes: Buffer): Buffer {
    const parts: Buffer[] = [];
    let start = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      parts.push(this.#prefix, this.#incomplete, bytes.subarray(start, end + 1));
      this.#incomplete = Buffer.alloc(0);
      start = end + 1;
    }
    this.#incomplete = Buffer.concat([this.#incomplete, bytes.subarray(start)]);
    return Buffer.concat(parts);
  }

  /** What is left of a last line without an end. */
  rest(): Buffer {
    return this.#incomplete.length === 0 ? this.#incomplete : Buffer.concat([this.#prefix, this.#incomplete]);
  }
}
