/**
 * Bytes that come in parts. They are copied into one buffer, because a list of parts of one byte takes some 200 times
 * their length, and more if each part keeps the read that it came with.
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

  /** All bytes so far. None are left here. */
  drain(): Buffer {
    const bytes = this.buffer.subarray(0, this.used);
    this.buffer = Buffer.alloc(0);
    this.used = 0;
    return bytes;
  }
}
