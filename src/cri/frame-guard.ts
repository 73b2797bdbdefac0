import { type Clock, systemClock } from '../clock.ts';
import { TokenBucket } from '../flow/token-bucket.ts';

/** RFC 9113. */
const headLength = 9;
const types = { data: 0, headers: 1, settings: 4, pushPromise: 5, continuation: 9 };
/** Types from this one on are extensions, which a client may ignore. */
const firstExtension = 10;
const endHeaders = 4;

const nothing = Buffer.alloc(0);

/** Responses of a gRPC server have far shorter ones. */
const maxBlockBytes = 32 * 1024;

/**
 * Bytes other than data that a server may send: frame headers, settings, pings, extensions. A flood of these, or of
 * data in tiny frames, costs far more time and memory than its size suggests.
 */
const overhead = { burst: 64 * 1024, perSecond: 16 * 1024 };

/** A server sent HTTP/2 frames that no gRPC server sends and that are dangerous to read. */
export class UnsafeFrames extends Error {}

/**
 * Passes a server's frames on as they arrive, header blocks only once they are complete, and extensions not at all.
 * Node 20 may crash if a connection breaks within a header block, if the server pushes streams, or on a malformed
 * ALTSVC: `current_nghttp2_memory_ == 0`, `iframe->state == NGHTTP2_IB_IGN_ALL`.
 */
export class FrameGuard {
  private readonly head = Buffer.alloc(headLength);
  private headBytes = 0;
  /** Bytes of the current frame's payload that have not arrived yet. */
  private bytesLeft = 0;
  /** Earlier bytes that may not be read yet. */
  private held = nothing;
  private isData = false;
  private hasSettings = false;
  private isExtension = false;
  private isInBlock = false;
  private blockBytes = 0;
  /** The stream whose header block continues in the next frame. */
  private openStream: number | undefined;
  private readonly overhead: TokenBucket;

  constructor(clock: Pick<Clock, 'monotonic'> = systemClock) {
    this.overhead = new TokenBucket({ ...overhead, clock });
  }

  /**
   * Returns the bytes, buffered or new, that are safe to pass to Node. Throws `UnsafeFrames`. Data bytes are in
   * separate chunks, because their reader keeps the whole chunk.
   */
  accept(bytes: Buffer): Buffer[] {
    const safe: Buffer[] = [];
    // The bytes between these two are safe, but not in `safe` yet.
    let from = 0;
    let to = 0;
    let overheadBytes = 0;
    for (let at = 0; at < bytes.length;) {
      const wanted = this.bytesLeft > 0 ? this.bytesLeft : headLength - this.headBytes;
      const end = Math.min(at + wanted, bytes.length);
      const wasData = this.isData;
      if (!wasData || this.bytesLeft === 0) overheadBytes += end - at;
      if (this.bytesLeft > 0) this.bytesLeft -= end - at;
      else this.readHead(bytes, at, end);
      if (this.isData !== wasData && to > from) {
        safe.push(bytes.subarray(from, to));
        from = to;
      }
      at = end;
      this.endBlock();
      if (this.headBytes > 0 || this.isInBlock) continue;
      if (this.isExtension) {
        if (to > from) safe.push(bytes.subarray(from, to));
        from = at;
      } else if (this.held.length > 0) safe.push(this.held);
      this.held = nothing;
      to = at;
    }
    if (!this.overhead.tryAcquire(overheadBytes))
      throw new UnsafeFrames('the server sends too many frames without data');
    if (to > from) safe.push(bytes.subarray(from, to));
    if (to < bytes.length) this.held = Buffer.concat([this.held, bytes.subarray(to)]);
    return safe;
  }

  private readHead(bytes: Buffer, start: number, end: number): void {
    bytes.copy(this.head, this.headBytes, start, end);
    this.headBytes += end - start;
    if (this.headBytes < headLength) return;
    this.headBytes = 0;
    this.bytesLeft = this.head.readUIntBE(0, 3);
    const type = this.head.readUInt8(3);
    const stream = this.head.readUInt32BE(5) & 0x7fff_ffff;
    this.isData = type === types.data;
    if (type === types.settings) this.hasSettings = true;
    // If the first frame is not settings, Node reports that this is not HTTP/2.
    this.isExtension = this.hasSettings && type >= firstExtension;
    if (type === types.pushPromise) throw new UnsafeFrames('the server pushes a stream');
    const continued = type === types.continuation ? stream : undefined;
    if (continued !== this.openStream) throw new UnsafeFrames('the server broke off a header block');
    if (type !== types.headers && continued === undefined) return;
    this.isInBlock = true;
    this.blockBytes += headLength + this.bytesLeft;
    if (this.blockBytes > maxBlockBytes) throw new UnsafeFrames('the server sends too long headers');
    this.openStream = (this.head.readUInt8(4) & endHeaders) === 0 ? stream : undefined;
  }

  private endBlock(): void {
    if (!this.isInBlock || this.openStream !== undefined || this.bytesLeft > 0 || this.headBytes > 0) return;
    this.isInBlock = false;
    this.blockBytes = 0;
  }
}
