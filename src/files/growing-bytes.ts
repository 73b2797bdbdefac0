/**
 * Bytes that arrive in chunks. Copies them into one buffer, because a list of one-byte chunks needs some 200 times
 * their length, and more if each chunk keeps alive the buffer that it was read into.
 */
export class GrowingBytes {
  private buffer = Buffer.alloc(0);
  private used = 0;

  get length(): number {
    return this.used;
  }

  add(part: ArrayLike<number>): void {
    const total = this.used + part.length;
    if (total > this.buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(total, 2 * this.buffer.length));
      this.buffer.copy(larger, 0, 0, this.used);
      this.buffer = larger;
    }
    this.buffer.set(part, this.used);
    this.used = total;
  }

  /** Returns and removes all bytes so far. */
  drain(): Buffer {
    const bytes = this.buffer.subarray(0, this.used);
    this.buffer = Buffer.alloc(0);
    this.used = 0;
    return bytes;
  }
}
