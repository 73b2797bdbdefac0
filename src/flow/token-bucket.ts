import type { Clock } from '../clock.ts';

/** Limits a rate: `burst` at once, then `perSecond`. Go: client-go util/flowcontrol */
export class TokenBucket {
  private tokens: number;
  private countedAtMonotonic: number;

  /** If `perSecond` is 0, there is no limit. */
  constructor(private readonly deps: { perSecond: number; burst: number; clock: Pick<Clock, 'monotonic'> }) {
    this.tokens = deps.burst;
    this.countedAtMonotonic = deps.clock.monotonic();
  }

  /** Acquires tokens. Returns false and acquires none if there are too few. */
  tryAcquire(count = 1): boolean {
    const { perSecond, burst, clock } = this.deps;
    if (perSecond === 0) return true;
    const nowMonotonic = clock.monotonic();
    const gained = ((nowMonotonic - this.countedAtMonotonic) / 1000) * perSecond;
    this.tokens = Math.min(burst, this.tokens + gained);
    this.countedAtMonotonic = nowMonotonic;
    if (this.tokens < count) return false;
    this.tokens -= count;
    return true;
  }
}
