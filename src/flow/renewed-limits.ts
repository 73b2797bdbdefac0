import type { Clock } from '../clock.ts';
import { withTimeout } from './with-timeout.ts';

/**
 * Time limits of works that wait for one another: all of them begin anew when one of the works is done. So a limit
 * bounds the time without progress, and not the time of all.
 */
export class RenewedLimits {
  private renewedAtMonotonic = -Infinity;

  constructor(private readonly clock: Clock) {}

  /** One of the works is done. */
  renew(): void {
    this.renewedAtMonotonic = this.clock.monotonic();
  }

  /**
   * Returns the result of `work`. Rejects with a TimeoutError after `ms`, which begin now and anew with each `renew`.
   */
  within<T>(ms: number, work: Promise<T>): Promise<T> {
    return withTimeout(this.clock, ms, work, () => this.renewedAtMonotonic);
  }

  /** Monotonic time of the end of a limit of `ms`, unless it is renewed later. */
  endOf(begunAtMonotonic: number, ms: number): number {
    return Math.max(begunAtMonotonic, this.renewedAtMonotonic) + ms;
  }
}
