/**
 * The part of SPDY/3.1 that exec streams need (https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/):
 * a data frame is `0|stream id (31 bits), flags (8), length (24)` and its bytes, a control frame
 * `1|version (15 bits), type (16), flags (8), length (24)` and its fields.
 */
const version = 3;
const headerBytes = 8;
const finFlag = 1;
/** Limit for a control frame. Those of streaming servers have a few hundred bytes. */
const maxControlBytes = 1024 * 1024;

const frameTypes = { synStream: 1, synReply: 2, reset: 3, ping: 6, goAway: 7 } as const;

/** The frames and fields that exec streams need. A data frame may arrive in several parts; `fin` is set on the last. */
export type SpdyFrame =
  | { type: 'data'; streamID: number; bytes: Buffer; fin: boolean }
  | { type: 'synStream' | 'synReply' | 'reset'; streamID: number; fin: boolean }
  | { type: 'ping'; id: number }
  | { type: 'goAway' };

/**
 * Opens a stream. `headerBlock` comes from the `HeaderBlockWriter` of the same connection, and frames must be sent in
 * the order in which it wrote them.
 */
export function synStreamFrame(streamID: number, headerBlock: Buffer): Buffer {
  const fields = Buffer.alloc(10);
  fields.writeUInt32BE(streamID, 0);
  return controlFrame(frameTypes.synStream, Buffer.concat([fields, headerBlock]));
}

export function pingFrame(id: number): Buffer {
  return controlFrame(frameTypes.ping, uint32(id));
}

export function resetFrame(streamID: number, statusCode: number): Buffer {
  return controlFrame(frameTypes.reset, Buffer.concat([uint32(streamID), uint32(statusCode)]));
}

/** `fin` ends our side of the stream. */
export function dataFrame(streamID: number, bytes: Buffer, fin = false): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt32BE(streamID, 0);
  header.writeUInt32BE(bytes.length, 4);
  header.writeUInt8(fin ? finFlag : 0, 4);
  return Buffer.concat([header, bytes]);
}

/**
 * Writes the header blocks of one connection, which form one zlib stream. Writes stored (uncompressed) deflate blocks:
 * any inflater reads them without SPDY's dictionary, and they need no state. The empty block at the end is a sync
 * flush, which makes the receiver output what it has.
 */
export class HeaderBlockWriter {
  private prefix = Buffer.of(0x78, 0x01);

  write(headers: Readonly<Record<string, string>>): Buffer {
    const entries = Object.entries(headers);
    const pairs = entries.flatMap(([name, value]) => [lengthPrefixed(name.toLowerCase()), lengthPrefixed(value)]);
    const block = Buffer.concat([uint32(entries.length), ...pairs]);
    const stored = Buffer.alloc(5);
    stored.writeUInt16LE(block.length, 1);
    stored.writeUInt16LE(block.length ^ 0xffff, 3);
    const prefix = this.prefix;
    this.prefix = Buffer.alloc(0);
    return Buffer.concat([prefix, stored, block, Buffer.of(0, 0, 0, 0xff, 0xff)]);
  }
}

/** Splits the received bytes into frames. Passes data on at once and buffers only control frames. */
export class SpdyFrameReader {
  private pending: Buffer = Buffer.alloc(0);
  private data: { streamID: number; fin: boolean; bytesLeft: number } | undefined;

  /**
   * Returns the frames completed by `chunk`, and the parts of data frames in it. Throws an Error if the bytes are not
   * SPDY/3.
   */
  read(chunk: Buffer): SpdyFrame[] {
    this.pending = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk]);
    const frames: SpdyFrame[] = [];
    for (;;) {
      const frame = this.data === undefined ? this.next() : this.dataPart(this.data);
      if (frame === undefined) return frames;
      if (frame !== 'skipped') frames.push(frame);
    }
  }

  private next(): SpdyFrame | 'skipped' | undefined {
    if (this.pending.length < headerBytes) return undefined;
    const first = this.pending.readUInt32BE(0);
    const fin = (this.pending.readUInt8(4) & finFlag) !== 0;
    const bodyBytes = this.pending.readUIntBE(5, 3);
    if (first < 2 ** 31) {
      this.pending = this.pending.subarray(headerBytes);
      this.data = { streamID: first, fin, bytesLeft: bodyBytes };
      return this.dataPart(this.data);
    }
    const type = first & 0xffff;
    if (((first >>> 16) & 0x7fff) !== version || bodyBytes > maxControlBytes) {
      throw new Error('the streaming server sent something other than SPDY/3.1');
    }
    if (this.pending.length < headerBytes + bodyBytes) return undefined;
    const body = this.pending.subarray(headerBytes, headerBytes + bodyBytes);
    this.pending = this.pending.subarray(headerBytes + bodyBytes);
    return controlFrameOf(type, fin, body) ?? 'skipped';
  }

  private dataPart(data: { streamID: number; fin: boolean; bytesLeft: number }): SpdyFrame | undefined {
    if (this.pending.length === 0 && data.bytesLeft > 0) return undefined;
    const bytes = this.pending.subarray(0, data.bytesLeft);
    this.pending = this.pending.subarray(bytes.length);
    data.bytesLeft -= bytes.length;
    const last = data.bytesLeft === 0;
    if (last) this.data = undefined;
    return { type: 'data', streamID: data.streamID, bytes, fin: data.fin && last };
  }
}

/** Returns undefined for frames that need no response: SETTINGS, HEADERS, WINDOW_UPDATE, and any newer type. */
function controlFrameOf(type: number, fin: boolean, body: Buffer): SpdyFrame | undefined {
  if (type === frameTypes.goAway) return { type: 'goAway' };
  if (body.length < 4) return undefined;
  const id = body.readUInt32BE(0) & 0x7fffffff;
  switch (type) {
    case frameTypes.synStream:
      return { type: 'synStream', streamID: id, fin };
    case frameTypes.synReply:
      return { type: 'synReply', streamID: id, fin };
    case frameTypes.reset:
      return { type: 'reset', streamID: id, fin };
    case frameTypes.ping:
      return { type: 'ping', id: body.readUInt32BE(0) };
    default:
      return undefined;
  }
}

function controlFrame(type: number, body: Buffer): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt16BE(0x8000 | version, 0);
  header.writeUInt16BE(type, 2);
  header.writeUInt32BE(body.length, 4);
  return Buffer.concat([header, body]);
}

function lengthPrefixed(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
