import type { Clock } from '../clock.ts';
import { withTimeout } from './with-timeout.ts';

/**
 * Time limits for tasks that wait for one another. Whenever one of them finishes, the limits of all start over. So a
 * limit bounds the time without progress, not the total time.
 */
export class RenewedLimits {
  private renewedAtMonotonic = -Infinity;

  constructor(private readonly clock: Clock) {}

  /** Reports that one of the tasks is done. */
  renew(): void {
    this.renewedAtMonotonic = this.clock.monotonic();
  }

  /**
   * Returns the result of `work`. Rejects with a TimeoutError after `ms`, counted from now or from the last `renew`.
   */
  within<T>(ms: number, work: Promise<T>): Promise<T> {
    return withTimeout(this.clock, ms, work, () => this.renewedAtMonotonic);
  }

  /** Monotonic time at which a limit of `ms` expires, unless it is renewed before. */
  endOf(begunAtMonotonic: number, ms: number): number {
    return Math.max(begunAtMonotonic, this.renewedAtMonotonic) + ms;
  }
}
