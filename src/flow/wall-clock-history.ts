import type { Clock } from '../clock.ts';

/** A wall clock that is set less than this is corrected, not set. */
const setMs = 1000;
/** A machine whose clock is set more often within the life of what runs on it has other worries. */
const maxSettings = 32;

/** How the wall clock was set for some time, all in milliseconds. */
export interface WallClockSetting {
  /** Wall time less monotonic time. */
  offset: number;
  /** Monotonic time before which it was not so for certain; when it was first and last seen to be so. */
  notBefore: number;
  firstSeen: number;
  lastSeen: number;
}

/**
 * When it was, on the monotonic clock, that the wall clock showed some time. The runtime and statuses tell of wall time, and
 * someone may set that: the first minutes of a machine without a battery are in 1970. What is waited for must not take a day
 * longer for it, nor be over at once. The kubelet compares wall times.
 */
export class WallClockHistory {
  private readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Oldest first. */
  private seenSettings: WallClockSetting[] = [];
  /** Told when the clock was set. */
  onSet: () => void = () => undefined;

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.clock = clock;
    this.observe();
  }

  get settings(): readonly WallClockSetting[] {
    return this.seenSettings;
  }

  /** Takes up how the clock was set before we watched it, since the machine started. To be called once. */
  resume(earlier: readonly WallClockSetting[]): void {
    const last = earlier.at(-1);
    const [first, ...later] = this.seenSettings;
    if (last === undefined || first === undefined) return;
    const isUnchanged = Math.abs(first.offset - last.offset) < setMs;
    const { notBefore, firstSeen } = last;
    this.seenSettings = isUnchanged
      ? [...earlier.slice(0, -1), { ...first, notBefore, firstSeen }, ...later]
      : [...earlier, { ...first, notBefore: last.lastSeen }, ...later];
    this.seenSettings = this.seenSettings.slice(-maxSettings);
  }

  /** Notices when the clock was set. To be called every few seconds, so that little happens between the two. */
  observe(): void {
    const seen = this.clock.monotonic();
    const offset = this.clock.now() - seen;
    const last = this.seenSettings.at(-1);
    if (last !== undefined && Math.abs(offset - last.offset) < setMs) {
      last.offset = offset;
      last.lastSeen = seen;
      return;
    }
    this.seenSettings.push({ offset, notBefore: last?.lastSeen ?? -Infinity, firstSeen: seen, lastSeen: seen });
    if (this.seenSettings.length > maxSettings) this.seenSettings.shift();
    if (last !== undefined) this.onSet();
  }

  /**
   * Monotonic milliseconds, less than 0 for what was before that clock began. A time that the wall clock never showed while we
   * watched was shown right before that.
   */
  monotonicAt(stamp: number): number {
    this.observe();
    for (const [index, { offset, notBefore, lastSeen }] of [...this.seenSettings.entries()].reverse()) {
      const at = stamp - offset;
      const notAfter = this.seenSettings[index + 1]?.firstSeen ?? lastSeen;
      if (at >= notBefore - setMs && at <= notAfter + setMs) return Math.min(at, notAfter);
    }
    return this.seenSettings[0]?.firstSeen ?? 0;
  }

  /** Milliseconds that went by since the wall clock showed this, never less than 0. */
  since(stamp: number): number {
    return Math.max(0, this.clock.monotonic() - this.monotonicAt(stamp));
  }
}
