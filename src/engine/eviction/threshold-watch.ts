import {
  type EvictionSignal,
  type EvictionThreshold,
  thresholdQuantity,
} from '../../api/values/eviction-thresholds.ts';
import { quantityValue } from '../../api/values/quantity.ts';
import type { Clock } from '../../clock.ts';
import { toError } from '../../errors.ts';

/** Bytes behind a signal. */
export interface SignalReading {
  availableBytes: number;
  capacityBytes: number;
}

export type SignalReadings = ReadonlyMap<EvictionSignal, SignalReading>;

interface Deps {
  thresholds: readonly Pick<EvictionThreshold, 'signal' | 'value'>[];
  /** The signals to watch. */
  signals: readonly EvictionSignal[];
  /** A few processes can use up these signals at this rate. Faster rates are measured. */
  leastBytesPerSecond: number;
  /** Reads these signals. A value that cannot be read now is absent. */
  read: () => SignalReadings | Promise<SignalReadings>;
  /** Period between two reads near a threshold. */
  nearPeriodMs: number;
  clock: Clock;
}

/** The normal `nearPeriodMs`, and the one with kernelMemcgNotification. */
export const nearPeriodsMs = { normal: 500, notifying: 100 };
/** Options of a `ThresholdWatch` of memory. */
export const memory: Pick<Deps, 'signals' | 'leastBytesPerSecond'> = {
  signals: ['memory.available', 'allocatableMemory.available'],
  leastBytesPerSecond: 2 ** 30,
};
/**
 * Options of a `ThresholdWatch` of disks. containerfs needs no entry, because its thresholds repeat those of one of
 * these.
 */
export const disks: Pick<Deps, 'signals' | 'leastBytesPerSecond'> = {
  signals: ['nodefs.available', 'imagefs.available'],
  leastBytesPerSecond: 2 ** 28,
};
/**
 * The period far from all thresholds. It is longer than the eviction manager's period, so that the manager's values
 * make a read unnecessary. It is twice as long, because Node wakes up even for a cancelled timer.
 */
const farPeriodMs = 20_000;
/** Below a threshold only the recovery must be noticed. */
const belowPeriodMs = 1000;
/** A measured rate counts half after this time. */
const rateHalfLifeMs = 30_000;

/**
 * Notices when memory or a disk falls below an eviction threshold. For memory the kernel reports that by eventfd
 * (cgroup v1) or by poll's priority events (PSI), and Node supports neither. For disks the kernel does not report it.
 * So this class reads both, more often the nearer they are to a threshold: always before they could reach it at the
 * highest rate measured. A read takes some 50 µs. kubelet: eviction/memory_threshold_notifier.go
 *
 * INVARIANT: a crossed threshold is noticed within `nearPeriodMs`, as long as the signals shrink no faster than
 * `leastBytesPerSecond`, or than twice the rate of the last half minute.
 */
export class ThresholdWatch {
  private readonly deps: Deps;
  private readonly callbacks = new Set<() => void>();
  /** Thresholds that were crossed at the last read. */
  private below: ReadonlySet<object> = new Set();
  private bytesPerSecond = 0;
  private last: { atMonotonic: number; readings: SignalReadings } | undefined;
  /** Restarts the wait for the next read. */
  private wait: (periodMs: number) => void = () => undefined;

  constructor(deps: Deps) {
    this.deps = { ...deps, thresholds: deps.thresholds.filter(({ signal }) => deps.signals.includes(signal)) };
  }

  /** Calls back each time that another threshold is crossed, until the returned function is called. */
  onNotice(callback: () => void): () => void {
    this.callbacks.add(callback);
    return () => {
      this.callbacks.delete(callback);
    };
  }

  /** Runs until the signal is aborted. Resolves at once if there is no threshold to watch. */
  async run(signal: AbortSignal): Promise<void> {
    const { thresholds, read } = this.deps;
    while (thresholds.length > 0) {
      const { periodMs, isNew } = this.check(await read());
      if (isNew) for (const callback of this.callbacks) callback();
      await this.untilDue(periodMs, signal);
    }
  }

  /** Applies values that the eviction manager has just read, instead of the next read. Does not call back. */
  observe(readings: SignalReadings): void {
    this.wait(this.check(readings).periodMs);
  }

  /** Resolves after the period that the newest values allow. */
  private untilDue(periodMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      let cancel = (): void => undefined;
      const end = (): void => {
        cancel();
        this.wait = () => undefined;
        signal.removeEventListener('abort', end);
        if (signal.aborted) reject(toError(signal.reason));
        else resolve();
      };
      this.wait = (ms) => {
        cancel();
        cancel = this.deps.clock.after(ms, end);
      };
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted) end();
      else this.wait(periodMs);
    });
  }

  /** Returns the milliseconds until the next read. `isNew`: a signal fell below another threshold. */
  private check(readings: SignalReadings): { periodMs: number; isNew: boolean } {
    const { thresholds, leastBytesPerSecond, nearPeriodMs, clock } = this.deps;
    this.observeRate(readings, clock.monotonic());
    const fastest = Math.max(leastBytesPerSecond, 2 * this.bytesPerSecond);
    const below = new Set<object>();
    let periodMs = farPeriodMs;
    for (const threshold of thresholds) {
      const reading = readings.get(threshold.signal);
      if (reading === undefined) continue;
      const bytes = marginBytes(threshold, reading);
      if (bytes < 0) below.add(threshold);
      periodMs = Math.min(periodMs, bytes < 0 ? belowPeriodMs : nextReadMs(bytes, fastest, nearPeriodMs));
    }
    const isNew = [...below].some((threshold) => !this.below.has(threshold));
    this.below = below;
    return { periodMs, isNew };
  }

  /** Updates the highest rate at which a signal shrinks. Old rates fade. */
  private observeRate(readings: SignalReadings, nowMonotonic: number): void {
    const { last } = this;
    this.last = { atMonotonic: nowMonotonic, readings };
    if (last === undefined || nowMonotonic <= last.atMonotonic) return;
    const passedMs = nowMonotonic - last.atMonotonic;
    const shrunkBytes = [...readings].map(
      ([signal, { availableBytes }]) => (last.readings.get(signal)?.availableBytes ?? 0) - availableBytes,
    );
    const rates = shrunkBytes.map((bytes) => (bytes * 1000) / passedMs);
    this.bytesPerSecond = Math.max(this.bytesPerSecond * 2 ** (-passedMs / rateHalfLifeMs), ...rates);
  }
}

/** Returns for how many milliseconds a signal cannot shrink by this margin, within the bounds of the period. */
export function nextReadMs(marginBytes: number, fastestBytesPerSecond: number, nearPeriodMs: number): number {
  return Math.min(Math.max((marginBytes * 1000) / fastestBytesPerSecond, nearPeriodMs), farPeriodMs);
}

/** Returns how far a signal is above the threshold. Negative below it. */
function marginBytes(
  { value }: Pick<EvictionThreshold, 'value'>,
  { availableBytes, capacityBytes }: SignalReading,
): number {
  const capacity = { nanos: BigInt(capacityBytes) * 1_000_000_000n, format: 'BinarySI' } as const;
  return availableBytes - Number(quantityValue(thresholdQuantity(value, capacity)));
}
