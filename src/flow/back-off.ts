import type { Clock } from '../clock.ts';

/** How long the next try of one thing has to wait, and since when. Times are monotonic milliseconds. */
export interface BackOffEntry {
  backOffMs: number;
  lastUpdate: number;
}

export interface BackOffLimits {
  /** Wait after the first failure. */
  initialMs: number;
  /** It is doubled up to this. */
  maxMs: number;
  /** A failure this long after the last update starts over with `initialMs`. */
  resetAfterMs: number;
}

/** kubelet: kubelet.go backOffPeriod, MaxContainerBackOff */
export const defaultBackOffLimits: BackOffLimits = { initialMs: 10_000, maxMs: 300_000, resetAfterMs: 600_000 };

/**
 * Exponential back-off by key, for crash loops (counted from the time a container finished) and for image pulls
 * (counted from the last failure). kubelet: client-go util/flowcontrol/backoff.go Backoff
 */
export class BackOff {
  private readonly entries = new Map<string, BackOffEntry>();
  private readonly clock: Pick<Clock, 'monotonic'>;
  private readonly limits: BackOffLimits;

  constructor(clock: Pick<Clock, 'monotonic'>, limits: Partial<BackOffLimits> = {}) {
    this.clock = clock;
    const { initialMs, maxMs } = { ...defaultBackOffLimits, ...limits };
    this.limits = { initialMs, maxMs, resetAfterMs: limits.resetAfterMs ?? 2 * maxMs };
  }

  /** The current back-off in milliseconds; 0 for a key that never failed. */
  get(key: string): number {
    return this.entries.get(key)?.backOffMs ?? 0;
  }

  /** Notes a try of which the last one ended at `eventTime`: the next has to wait longer, up to `maxMs` if that is less. */
  next(key: string, eventTime: number, maxMs = Infinity): void {
    const limits = {
      ...this.limits,
      initialMs: Math.min(this.limits.initialMs, maxMs),
      maxMs: Math.min(this.limits.maxMs, maxMs),
    };
    this.entries.set(key, nextBackOff(this.entries.get(key), eventTime, this.clock.monotonic(), limits));
  }

  /** Takes up what an earlier life had of a key that is not known: after so many tries, the last of them at `lastUpdate`. */
  resume(key: string, tries: number, lastUpdate: number, maxMs = Infinity): void {
    if (tries === 0 || this.entries.has(key)) return;
    const backOffMs = Math.min(this.limits.initialMs * 2 ** (tries - 1), this.limits.maxMs, maxMs);
    this.entries.set(key, { backOffMs, lastUpdate });
  }

  /** True while less than the back-off went by since `eventTime`, the end of the last try. */
  isInBackOffSince(key: string, eventTime: number): boolean {
    const until = this.backOffUntil(key, eventTime);
    return until !== undefined && this.clock.monotonic() < until;
  }

  /** True when `eventTime`, the time of a new try, is less than the back-off after the last update. */
  isInBackOffSinceUpdate(key: string, eventTime: number): boolean {
    const entry = this.entries.get(key);
    if (!entry || hasExpired(entry, eventTime, this.limits)) return false;
    return eventTime < entry.lastUpdate + entry.backOffMs;
  }

  /** When a try that ended at `eventTime` may be repeated; undefined: at once. */
  backOffUntil(key: string, eventTime: number): number | undefined {
    const entry = this.entries.get(key);
    if (!entry || hasExpired(entry, eventTime, this.limits)) return undefined;
    return eventTime + entry.backOffMs;
  }

  /** When a try may be repeated that failed at the last update; undefined: at once. */
  backOffUntilSinceUpdate(key: string): number | undefined {
    const entry = this.entries.get(key);
    return entry && entry.lastUpdate + entry.backOffMs;
  }

  reset(key: string): void {
    this.entries.delete(key);
  }

  /** Forgets what expired. */
  gc(): void {
    for (const [key, entry] of this.entries) {
      if (hasExpired(entry, this.clock.monotonic(), this.limits)) this.entries.delete(key);
    }
  }
}

/** The entry after one more try: doubled and capped, or started (over). */
export function nextBackOff(
  entry: BackOffEntry | undefined,
  eventTime: number,
  now: number,
  limits: BackOffLimits = defaultBackOffLimits,
): BackOffEntry {
  const startsOver = !entry || hasExpired(entry, eventTime, limits);
  return { backOffMs: startsOver ? limits.initialMs : Math.min(entry.backOffMs * 2, limits.maxMs), lastUpdate: now };
}

/** Strictly longer: at exactly `resetAfterMs` the entry still counts. */
function hasExpired(entry: BackOffEntry, eventTime: number, { resetAfterMs }: BackOffLimits): boolean {
  return eventTime - entry.lastUpdate > resetAfterMs;
}
