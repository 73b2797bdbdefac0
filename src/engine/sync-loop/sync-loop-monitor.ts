import type { Clock } from '../../clock.ts';

/** kubelet: kubelet.go SyncLoopHealthCheck */
const minThresholdMs = 5 * 60_000;

/** Detects a sync loop that makes no progress. kubelet: kubelet.go SyncLoopHealthCheck, LatestLoopEntryTime */
export class SyncLoopMonitor {
  private enteredAtMonotonic: number | undefined;

  constructor(private readonly deps: { clock: Clock; syncFrequencyMs: number }) {}

  /** Call it before the loop handles an input. */
  entered(): void {
    this.enteredAtMonotonic = this.deps.clock.monotonic();
  }

  /** Explains why the loop counts as stuck. Returns undefined while it makes progress, and before its first input. */
  stuckBecause(): string | undefined {
    if (this.enteredAtMonotonic === undefined) return undefined;
    const { clock, syncFrequencyMs } = this.deps;
    const silentMs = clock.monotonic() - this.enteredAtMonotonic;
    return silentMs > Math.max(2 * syncFrequencyMs, minThresholdMs) ? 'sync Loop took longer than expected' : undefined;
  }
}
