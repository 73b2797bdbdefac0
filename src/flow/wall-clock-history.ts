import type { Clock } from '../clock.ts';

/** Milliseconds. The clock counts as set if it jumps by more; less is a correction. */
const setMs = 1000;
/** Limit for the recorded settings. No healthy machine has more. */
const maxSettings = 32;

/** One setting of the wall clock. All values are in milliseconds. */
export interface WallClockSetting {
  /** Wall time minus monotonic time. */
  offset: number;
  /**
   * Monotonic times. The setting was not in effect before `notBefore`; it was observed from `firstSeen` to `lastSeen`.
   */
  notBefore: number;
  firstSeen: number;
  lastSeen: number;
}

/**
 * Maps wall time to monotonic time. The runtime and statuses use wall times, and the wall clock may be set: a machine
 * without a battery starts in 1970. That must neither make a wait a day longer nor end it at once. The kubelet compares
 * wall times.
 */
export class WallClockHistory {
  /** Settings, oldest first. */
  private seenSettings: WallClockSetting[] = [];
  /** Called when the clock has been set. */
  onSet: () => void = () => undefined;

  constructor(private readonly clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.observe();
  }

  get settings(): readonly WallClockSetting[] {
    return this.seenSettings;
  }

  /** Restores the settings made between boot and this run. Must be called once. */
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

  /** Detects a new setting. Must be called about every ten seconds, to date settings precisely. */
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
   * Returns the monotonic milliseconds of a wall time, negative for times before the monotonic clock started. A wall
   * time outside all settings counts as the start of the first one.
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

  /** Returns the milliseconds since the wall clock showed this time, at least 0. */
  since(stamp: number): number {
    return Math.max(0, this.clock.monotonic() - this.monotonicAt(stamp));
  }
}
