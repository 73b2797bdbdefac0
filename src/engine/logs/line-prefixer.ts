const newline = 0x0a;
const lineEnd = Buffer.from('\n');
/** How many bytes of a line are held back. A longer line is split between characters. */
const maxBuffered = 256 * 1024;

interface Options {
  /** Changes the text of a line, passed without its line end. */
  guard?: ((line: Buffer) => Buffer) | undefined;
}

/** Prefixes each line. Holds back incomplete lines, so that lines of several logs do not mix. */
export class LinePrefixer {
  private readonly prefix: Buffer;
  private readonly guard: (line: Buffer) => Buffer;
  private buffered: Buffer[] = [];
  private bufferedBytes = 0;

  constructor(prefix: string, { guard = (line) => line }: Options = {}) {
    this.prefix = Buffer.from(prefix);
    this.guard = guard;
  }

  /** Returns the lines that `bytes` completes. */
  add(bytes: Buffer): Buffer {
    const parts: Buffer[] = [];
    let start = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      this.buffer(bytes.subarray(start, end));
      parts.push(...this.line(), lineEnd);
      start = end + 1;
    }
    // Copies, because the caller may reuse its buffer.
    if (start < bytes.length) this.buffer(Buffer.from(bytes.subarray(start)));
    if (this.bufferedBytes > maxBuffered) parts.push(...this.part(), lineEnd);
    return Buffer.concat(parts);
  }

  /** Returns the incomplete last line. */
  rest(): Buffer {
    return this.bufferedBytes === 0 ? Buffer.alloc(0) : Buffer.concat(this.line());
  }

  private buffer(bytes: Buffer): void {
    this.buffered.push(bytes);
    this.bufferedBytes += bytes.length;
  }

  private line(): Buffer[] {
    return [this.prefix, this.guard(this.take())];
  }

  /** Returns what is there of a line, up to its last complete character. */
  private part(): Buffer[] {
    const buffered = this.take();
    const end = endOfCharacters(buffered);
    if (end < buffered.length) this.buffer(buffered.subarray(end));
    return [this.prefix, this.guard(buffered.subarray(0, end))];
  }

  private take(): Buffer {
    const buffered = Buffer.concat(this.buffered);
    this.buffered = [];
    this.bufferedBytes = 0;
    return buffered;
  }
}

/** Returns where the last complete UTF-8 character ends. Bytes that are not UTF-8 count as characters. */
function endOfCharacters(bytes: Buffer): number {
  // An incomplete character has at most three bytes.
  for (let at = bytes.length - 1; at >= bytes.length - 3; at -= 1) {
    const byte = bytes[at] ?? 0;
    const isFirst = (byte & 0xc0) !== 0x80;
    if (isFirst) return at + bytesFrom(byte) > bytes.length ? at : bytes.length;
  }
  return bytes.length;
}

/** Returns the length of a character with this first byte. */
function bytesFrom(first: number): number {
  if (first < 0xc0) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}
