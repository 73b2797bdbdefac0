interface Base {
  nanos: number;
  atMs: number;
  rate: number | undefined;
}

interface Counter {
  base: Base;
  /** The counter's newest value. */
  nanos: number;
  /** The newest sample that had it. */
  sample: number;
}

/** If the time between two samples is shorter, the average is useless; if it is longer, the average is out of date. */
const window = { minMs: 400, maxMs: 120_000 };

/**
 * Average CPU usage between samples, in billionths of a core. Drops counters that a sample does not contain. kubelet:
 * stats/cri_stats_provider.go getAndUpdateContainerUsageNanoCores
 */
export class CPURates {
  private readonly counters = new Map<string, Counter>();
  private sample = 0;

  /**
   * Returns the usage since an earlier sample. `nanos` is the counter and `atMs` its time; a key must always use the
   * same counter and clock. Returns undefined for a counter that is new or was reset.
   */
  next(key: string, nanos: number, atMs: number): number | undefined {
    const known = this.counters.get(key);
    const base = nextBase(known?.base, nanos, atMs);
    if (known === undefined) this.counters.set(key, { base, nanos, sample: this.sample });
    else {
      known.base = base;
      known.nanos = nanos;
      known.sample = this.sample;
    }
    return base.rate;
  }

  /**
   * Returns the counter's value in the previous sample. Returns undefined if the counter is new, or was already read in
   * this sample.
   */
  before(key: string): number | undefined {
    const known = this.counters.get(key);
    return known?.sample === this.sample - 1 ? known.nanos : undefined;
  }

  /** Call this after each sample. */
  endSample(): void {
    this.counters.forEach(({ sample }, key) => {
      if (sample !== this.sample) this.counters.delete(key);
    });
    this.sample += 1;
  }
}

function nextBase(before: Base | undefined, nanos: number, atMs: number): Base {
  if (before === undefined || nanos < before.nanos) return { nanos, atMs, rate: undefined };
  const elapsedMs = atMs - before.atMs;
  if (elapsedMs < window.minMs) return before;
  if (elapsedMs > window.maxMs) return { nanos, atMs, rate: undefined };
  return { nanos, atMs, rate: Math.round(((nanos - before.nanos) / elapsedMs) * 1000) };
}
