import type { Clock } from '../clock.ts';

/** kubelet: kubelet.go SyncLoopHealthCheck */
const minThresholdMs = 5 * 60_000;

/** Notices a sync loop that makes no progress. kubelet: kubelet.go SyncLoopHealthCheck, LatestLoopEntryTime */
export class SyncLoopMonitor {
  private readonly clock: Clock;
  private readonly thresholdMs: number;
  private enteredAtMonotonic: number | undefined;

  constructor({ clock, syncFrequencyMs }: { clock: Clock; syncFrequencyMs: number }) {
    this.clock = clock;
    this.thresholdMs = Math.max(2 * syncFrequencyMs, minThresholdMs);
  }

  /** Called before the loop handles an input. */
  entered(): void {
    this.enteredAtMonotonic = this.clock.monotonic();
  }

  /** Why the loop counts as stuck. Returns undefined while it makes progress, and before its first input. */
  stuckBecause(): string | undefined {
    if (this.enteredAtMonotonic === undefined) return undefined;
    const silentMs = this.clock.monotonic() - this.enteredAtMonotonic;
    return silentMs > this.thresholdMs ? 'sync Loop took longer than expected' : undefined;
  }
}
