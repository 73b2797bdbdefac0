import {
  type EvictionSignal,
  type EvictionThreshold,
  thresholdQuantity,
} from '../../api/values/eviction-thresholds.ts';
import { quantityValue } from '../../api/values/quantity.ts';
import type { Clock } from '../../clock.ts';

/** Memory behind a signal. */
export interface MemoryFigure {
  availableBytes: number;
  capacityBytes: number;
}

interface Deps {
  thresholds: readonly Pick<EvictionThreshold, 'signal' | 'value'>[];
  /** Reads the memory behind each signal of memory, at once. A figure that cannot be read now is absent. */
  read: () => ReadonlyMap<EvictionSignal, MemoryFigure>;
  /** Period between two reads near a threshold. */
  nearPeriodMs: number;
  clock: Clock;
}

/** Normal `nearPeriodMs`, and that of kernelMemcgNotification. */
export const nearPeriodsMs = { normal: 500, notifying: 100 };
/** Far from all thresholds. Beyond this period the eviction manager looks by itself. */
const farPeriodMs = 10_000;
/** Below a threshold only the way back up is to be noticed. */
const belowPeriodMs = 1000;
/** A few processes fill memory at this rate. A faster machine shows its own rate. */
const leastBytesPerSecond = 2 ** 30;
/** A rate that was seen counts half after this time. */
const rateHalfLifeMs = 30_000;

/**
 * Notices when memory falls below an eviction threshold. The kernel reports that by eventfd (cgroup v1) or by priority
 * events of poll (PSI), and Node has neither. So memory is read, the more often the nearer it is to a threshold: never
 * later than it could get there at the highest rate seen. A read takes some 50 µs. kubelet:
 * eviction/memory_threshold_notifier.go
 *
 * INVARIANT: while memory shrinks no faster than `leastBytesPerSecond`, or twice the rate of the last half minute, a
 * threshold is noticed within `nearPeriodMs` after it was crossed.
 */
export class MemoryWatch {
  private readonly deps: Deps;
  private readonly callbacks = new Set<() => void>();
  /** Thresholds that memory was below at the last read. */
  private below: ReadonlySet<object> = new Set();
  private bytesPerSecond = 0;
  private last: { atMonotonic: number; figures: ReadonlyMap<EvictionSignal, MemoryFigure> } | undefined;

  constructor(deps: Deps) {
    const thresholds = deps.thresholds.filter(({ signal }) => memorySignals.includes(signal));
    this.deps = { ...deps, thresholds };
  }

  /** Calls back each time that memory falls below another threshold, until the returned function is called. */
  onNotice(callback: () => void): () => void {
    this.callbacks.add(callback);
    return () => {
      this.callbacks.delete(callback);
    };
  }

  /** Runs until the signal is aborted. Resolves at once without a threshold of memory. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, thresholds } = this.deps;
    while (thresholds.length > 0) await clock.sleep(this.look(), { signal });
  }

  /** Reads memory, calls back if it fell below a threshold, and returns the milliseconds until the next read. */
  private look(): number {
    const { thresholds, nearPeriodMs, read, clock } = this.deps;
    const figures = read();
    this.observeRate(figures, clock.monotonic());
    const marginsBytes = thresholds.flatMap((threshold) => {
      const figure = figures.get(threshold.signal);
      return figure === undefined ? [] : [{ threshold, bytes: marginBytes(threshold, figure) }];
    });
    const below = new Set(marginsBytes.filter(({ bytes }) => bytes < 0).map(({ threshold }) => threshold));
    const isNew = [...below].some((threshold) => !this.below.has(threshold));
    this.below = below;
    if (isNew) for (const callback of this.callbacks) callback();
    const above = marginsBytes.filter(({ bytes }) => bytes >= 0).map(({ bytes }) => bytes);
    const periodMs = nextReadMs(Math.min(...above), this.bytesPerSecond, nearPeriodMs);
    return below.size > 0 ? Math.min(periodMs, belowPeriodMs) : periodMs;
  }

  /** Keeps the highest rate at which memory shrinks, which fades. */
  private observeRate(figures: ReadonlyMap<EvictionSignal, MemoryFigure>, nowMonotonic: number): void {
    const { last } = this;
    this.last = { atMonotonic: nowMonotonic, figures };
    if (last === undefined || nowMonotonic <= last.atMonotonic) return;
    const passedMs = nowMonotonic - last.atMonotonic;
    const shrunkBytes = [...figures].map(
      ([signal, { availableBytes }]) => (last.figures.get(signal)?.availableBytes ?? 0) - availableBytes,
    );
    const rates = shrunkBytes.map((bytes) => (bytes * 1000) / passedMs);
    this.bytesPerSecond = Math.max(this.bytesPerSecond * 2 ** (-passedMs / rateHalfLifeMs), ...rates);
  }
}

const memorySignals: readonly EvictionSignal[] = ['memory.available', 'allocatableMemory.available'];

/** Milliseconds in which memory cannot shrink by this margin, within the bounds of the period. */
export function nextReadMs(marginBytes: number, bytesPerSecond: number, nearPeriodMs: number): number {
  const fastest = Math.max(leastBytesPerSecond, 2 * bytesPerSecond);
  return Math.min(Math.max((marginBytes * 1000) / fastest, nearPeriodMs), farPeriodMs);
}

/** How far memory is above the threshold. Negative below it. */
function marginBytes(
  { value }: Pick<EvictionThreshold, 'value'>,
  { availableBytes, capacityBytes }: MemoryFigure,
): number {
  const capacity = { nanos: BigInt(capacityBytes) * 1_000_000_000n, format: 'BinarySI' } as const;
  return availableBytes - Number(quantityValue(thresholdQuantity(value, capacity)));
}
