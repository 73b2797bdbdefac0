import type { Clock } from '../clock.ts';

/** Least milliseconds between two frames: after a key, and else. */
const keyBeatMs = 50;
const beatMs = 200;
/** Bytes that a slow link sends per millisecond. It has long buffers, which would fill with old frames. */
const bytesPerMs = 10;
/** Longest time that such a link may need for the frames of keys, in milliseconds. */
const mostBehindMs = 1500;

/**
 * When the next frame is due. Frames that no key asked for wait until a slow link has sent those before. Frames of keys
 * wait only if it is far behind.
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
