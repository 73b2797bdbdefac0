import { GrowingBytes } from '../files/growing-bytes.ts';

/** Longest varint, in bytes. */
const maxVarintBytes = 10;
/** Wire types of protobuf. https://protobuf.dev/programming-guides/encoding/#structure */
const wireTypes = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** Number of fields of up to `maxFieldBytes` that a message may keep: the outputs of ExecSync. */
const maxLongFields = 2;
/** Bytes of tags, lengths, numbers and short fields that it may keep in addition. */
const maxShortBytes = 1024;

/**
 * Reads a protobuf message in chunks of any size and truncates each bytes or string field to `maxFieldBytes`, so that a
 * message of any size needs little memory. Throws an Error if the bytes are not a message or if too many fields remain
 * long.
 */
export class MessageCutter {
  /** Number of bytes dropped so far. */
  leftOutBytes = 0;
  private readonly kept = new GrowingBytes();
  /** The bytes of an incomplete tag or length. */
  private varint: number[] = [];
  private expects: 'tag' | 'value' | 'length' = 'tag';
  private bytesToKeep = 0;
  private bytesToSkip = 0;

  constructor(private readonly maxFieldBytes: number) {}

  add(part: Buffer): void {
    for (let at = 0; at < part.length;) {
      if (this.bytesToKeep > 0) {
        const bytes = part.subarray(at, at + this.bytesToKeep);
        this.keep(bytes);
        this.bytesToKeep -= bytes.length;
        at += bytes.length;
      } else if (this.bytesToSkip > 0) {
        const skipped = Math.min(this.bytesToSkip, part.length - at);
        this.bytesToSkip -= skipped;
        at += skipped;
      } else {
        this.addByte(part[at] ?? 0);
        at += 1;
      }
    }
  }

  /** Returns the message with its truncated fields. Throws an Error if it is incomplete. */
  end(): Buffer {
    if (this.varint.length > 0 || this.expects !== 'tag' || this.bytesToKeep > 0 || this.bytesToSkip > 0) {
      throw new Error('the message is not complete');
    }
    return this.kept.drain();
  }

  private addByte(byte: number): void {
    this.varint.push(byte);
    if (this.varint.length > maxVarintBytes) throw new Error('the message has a number that is too long');
    if (byte >= 0x80) return;
    const varint = this.varint;
    this.varint = [];
    if (this.expects === 'length') {
      this.beginField(numberOf(varint));
      return;
    }
    this.keep(varint);
    if (this.expects === 'tag') this.beginValue((varint[0] ?? 0) & 0x07);
    else this.expects = 'tag';
  }

  private beginValue(wireType: number): void {
    switch (wireType) {
      case wireTypes.varint:
        this.expects = 'value';
        return;
      case wireTypes.bytes:
        this.expects = 'length';
        return;
      case wireTypes.fixed64:
        this.bytesToKeep = 8;
        return;
      case wireTypes.fixed32:
        this.bytesToKeep = 4;
        return;
      default:
        throw new Error(`the message has a field of wire type ${wireType}`);
    }
  }

  private beginField(length: number): void {
    this.expects = 'tag';
    this.bytesToKeep = Math.min(length, this.maxFieldBytes);
    this.bytesToSkip = length - this.bytesToKeep;
    this.leftOutBytes += this.bytesToSkip;
    this.keep(varintOf(this.bytesToKeep));
  }

  private keep(bytes: ArrayLike<number>): void {
    const maxBytes = maxLongFields * this.maxFieldBytes + maxShortBytes;
    if (this.kept.length + bytes.length > maxBytes) throw new Error('the message has too many fields');
    this.kept.add(bytes);
  }
}

function numberOf(varint: readonly number[]): number {
  return varint.reduceRight((value, byte) => value * 128 + (byte & 0x7f), 0);
}

function varintOf(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return [...bytes, rest];
}
