/**
 * Text is converted to bytes in pieces of this many characters, because longer strings live longer and garbage
 * collection copies them.
 */
export const chunkLength = 16 * 1024;
/** Each part costs a turn of the event loop, so parts are larger. */
const partBytes = 128 * 1024;

/**
 * Splits a long text into parts of equal size. A part is overwritten once the second one after it has been read: new
 * buffers would trigger garbage collection every few megabytes.
 */
export class TextParts {
  private readonly full: Buffer[] = [];
  private readonly spare: Buffer[] = [];
  private part: Buffer = Buffer.allocUnsafeSlow(partBytes);
  private length = 0;
  private before: Buffer | undefined;

  add(text: string): void {
    const bytes = Buffer.byteLength(text);
    if (bytes > this.part.length - this.length) {
      this.end();
      this.part =
        (bytes > partBytes ? undefined : this.spare.pop()) ?? Buffer.allocUnsafeSlow(Math.max(partBytes, bytes));
    }
    // Plain ASCII is copied, which takes a fraction of the time of encoding it.
    this.length += this.part.write(text, this.length, bytes === text.length ? 'latin1' : 'utf8');
  }

  /** Must be called before the last part is read. */
  end(): void {
    this.full.push(this.part.subarray(0, this.length));
    this.length = 0;
  }

  /** Yields and removes the full parts. */
  *drain(): Generator<Buffer, void> {
    for (const part of this.full.splice(0)) {
      yield part;
      if (this.before !== undefined) this.spare.push(Buffer.from(this.before.buffer));
      this.before = part;
    }
  }
}
