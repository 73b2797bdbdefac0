import type { Clock } from '../clock.ts';

/** The delay before the next attempt, and when it began. */
export interface BackOffEntry {
  backOffMs: number;
  updatedAtMonotonic: number;
}

export interface BackOffLimits {
  /** Delay after the first failure. */
  initialMs: number;
  /** Longest delay. Each failure doubles the delay up to this. */
  maxMs: number;
  /** If the next failure comes later than this after the last update, the delay starts over with `initialMs`. */
  resetAfterMs: number;
}

/** kubelet: kubelet.go backOffPeriod, MaxContainerBackOff */
export const defaultBackOffLimits: BackOffLimits = { initialMs: 10_000, maxMs: 300_000, resetAfterMs: 600_000 };

/**
 * Exponential back-off by key. It counts from when the container exited for crash loops, and from the last failure for
 * image pulls. kubelet: client-go util/flowcontrol/backoff.go Backoff
 */
export class BackOff {
  private readonly entries = new Map<string, BackOffEntry>();
  private readonly limits: BackOffLimits;

  constructor(
    private readonly clock: Pick<Clock, 'monotonic'>,
    limits: Partial<BackOffLimits> = {},
  ) {
    const { initialMs, maxMs } = { ...defaultBackOffLimits, ...limits };
    this.limits = { initialMs, maxMs, resetAfterMs: limits.resetAfterMs ?? 2 * maxMs };
  }

  /** Returns the current back-off in milliseconds, or 0 if the key never failed. */
  get(key: string): number {
    return this.entries.get(key)?.backOffMs ?? 0;
  }

  /**
   * Counts an attempt. `eventAtMonotonic` is when the previous one ended. The next delay is longer, up to the lesser of
   * `maxMs` and the limit.
   */
  next(key: string, eventAtMonotonic: number, maxMs = Infinity): void {
    const limits = {
      ...this.limits,
      initialMs: Math.min(this.limits.initialMs, maxMs),
      maxMs: Math.min(this.limits.maxMs, maxMs),
    };
    this.entries.set(key, nextBackOff(this.entries.get(key), eventAtMonotonic, this.clock.monotonic(), limits));
  }

  /**
   * Restores the back-off of an unknown key from an earlier run of the agent, after `tries` attempts, the last one at
   * `updatedAtMonotonic`.
   */
  resume(key: string, tries: number, updatedAtMonotonic: number, maxMs = Infinity): void {
    if (tries === 0 || this.entries.has(key)) return;
    const backOffMs = Math.min(this.limits.initialMs * 2 ** (tries - 1), this.limits.maxMs, maxMs);
    this.entries.set(key, { backOffMs, updatedAtMonotonic });
  }

  /** True if the back-off has not passed since `eventAtMonotonic`, when the last attempt ended. */
  isInBackOffSince(key: string, eventAtMonotonic: number): boolean {
    const until = this.backOffUntil(key, eventAtMonotonic);
    return until !== undefined && this.clock.monotonic() < until;
  }

  /** True if the back-off has not passed between the last update and `eventAtMonotonic`, the time of a new attempt. */
  isInBackOffSinceUpdate(key: string, eventAtMonotonic: number): boolean {
    const entry = this.entries.get(key);
    if (!entry || hasExpired(entry, eventAtMonotonic, this.limits)) return false;
    return eventAtMonotonic < entry.updatedAtMonotonic + entry.backOffMs;
  }

  /** Returns when an attempt that ended at `eventAtMonotonic` may be repeated, or undefined if at once. */
  backOffUntil(key: string, eventAtMonotonic: number): number | undefined {
    const entry = this.entries.get(key);
    if (!entry || hasExpired(entry, eventAtMonotonic, this.limits)) return undefined;
    return eventAtMonotonic + entry.backOffMs;
  }

  /** Returns when an attempt that failed at the last update may be repeated, or undefined if at once. */
  backOffUntilSinceUpdate(key: string): number | undefined {
    const entry = this.entries.get(key);
    return entry && entry.updatedAtMonotonic + entry.backOffMs;
  }

  /** Restarts the time after which the back-off expires. Does nothing if the key never failed. */
  touch(key: string): void {
    const entry = this.entries.get(key);
    if (entry !== undefined) this.entries.set(key, { ...entry, updatedAtMonotonic: this.clock.monotonic() });
  }

  reset(key: string): void {
    this.entries.delete(key);
  }

  /** Deletes all keys with this prefix. */
  resetAll(prefix: string): void {
    for (const key of this.entries.keys()) if (key.startsWith(prefix)) this.entries.delete(key);
  }

  /** Deletes expired entries. */
  gc(): void {
    for (const [key, entry] of this.entries) {
      if (hasExpired(entry, this.clock.monotonic(), this.limits)) this.entries.delete(key);
    }
  }
}

/** Returns the entry after one more attempt: the delay is doubled and capped, or starts over. */
export function nextBackOff(
  entry: BackOffEntry | undefined,
  eventAtMonotonic: number,
  nowMonotonic: number,
  limits: BackOffLimits = defaultBackOffLimits,
): BackOffEntry {
  const startsOver = !entry || hasExpired(entry, eventAtMonotonic, limits);
  return {
    backOffMs: startsOver ? limits.initialMs : Math.min(entry.backOffMs * 2, limits.maxMs),
    updatedAtMonotonic: nowMonotonic,
  };
}

/** True after more than `resetAfterMs`. At exactly `resetAfterMs`, the entry still counts. */
function hasExpired(entry: BackOffEntry, eventAtMonotonic: number, { resetAfterMs }: BackOffLimits): boolean {
  return eventAtMonotonic - entry.updatedAtMonotonic > resetAfterMs;
}
