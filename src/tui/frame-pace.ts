import type { Clock } from '../clock.ts';

/** Minimum milliseconds between two frames: after a key, and otherwise. */
const keyBeatMs = 50;
const beatMs = 200;
/** Bytes that a slow link sends per millisecond. Its long buffers would fill with old frames. */
const bytesPerMs = 10;
/** Maximum milliseconds that a slow link may need for the frames of keys. */
const mostBehindMs = 1500;

/**
 * When the next frame is due. Frames without a key press wait until a slow link has sent the previous ones. Frames of
 * keys wait only if the link is far behind.
 */
export class FramePace {
  private lastAt = -Infinity;
  /** When a slow link has sent all frames. */
  private sentAt = -Infinity;

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {}

  /** Records a frame of this many bytes. */
  recordFrame(bytes: number): void {
    this.lastAt = this.clock.monotonic();
    this.sentAt = Math.max(this.sentAt, this.lastAt) + bytes / bytesPerMs;
  }

  /** Milliseconds until the next frame. */
  pauseMs({ isOfKey }: { isOfKey: boolean }): number {
    const due = isOfKey
      ? Math.max(this.lastAt + keyBeatMs, this.sentAt - mostBehindMs)
      : Math.max(this.lastAt + beatMs, this.sentAt);
    return Math.max(0, due - this.clock.monotonic());
  }
}
