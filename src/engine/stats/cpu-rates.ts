interface Base {
  nanos: number;
  atMs: number;
  rate: number | undefined;
}

/** Shorter times between two samples give no useful average, and longer ones no current one. */
const window = { minMs: 400, maxMs: 120_000 };

/**
 * Average CPU usage between samples, in billionths of a core. Counters that a sample does not contain are forgotten.
 * kubelet: stats/cri_stats_provider.go getAndUpdateContainerUsageNanoCores
 */
export class CPURates {
  private before = new Map<string, Base>();
  private now = new Map<string, Base>();

  /**
   * The usage since an earlier sample. `nanos` is the counter and `atMs` its time, both of one kind for a key. Returns
   * undefined for a counter that is new or began again.
   */
  next(key: string, nanos: number, atMs: number): number | undefined {
    const base = nextBase(this.before.get(key), nanos, atMs);
    this.now.set(key, base);
    return base.rate;
  }

  /** Ends a sample. */
  endSample(): void {
    this.before = this.now;
    this.now = new Map();
  }
}

function nextBase(before: Base | undefined, nanos: number, atMs: number): Base {
  if (before === undefined || nanos < before.nanos) return { nanos, atMs, rate: undefined };
  const elapsedMs = atMs - before.atMs;
  if (elapsedMs < window.minMs) return before;
  if (elapsedMs > window.maxMs) return { nanos, atMs, rate: undefined };
  return { nanos, atMs, rate: Math.round(((nanos - before.nanos) / elapsedMs) * 1000) };
}
