const newline = 0x0a;

/** Prefixes each line. Holds back incomplete lines, so that lines of several logs do not mix. */
export class LinePrefixer {
  readonly #prefix: Buffer;
  #incomplete: Buffer = Buffer.alloc(0);

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix);
  }

  /** Returns the lines that `bytes` completes. */
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

  /** Returns the incomplete last line. */
  rest(): Buffer {
    return this.#incomplete.length === 0 ? this.#incomplete : Buffer.concat([this.#prefix, this.#incomplete]);
  }
}
