/** Limits a rate: `burst` at once, then `perSecond`. Go: client-go util/flowcontrol */
export class TokenBucket {
  private readonly clock: { monotonic(): number };
  private readonly perSecond: number;
  private readonly burst: number;
  private tokens: number;
  private countedAtMonotonic: number;

  /** If `perSecond` is 0, there is no limit. */
  constructor({ perSecond, burst, clock }: { perSecond: number; burst: number; clock: { monotonic(): number } }) {
    this.clock = clock;
    this.perSecond = perSecond;
    this.burst = burst;
    this.tokens = burst;
    this.countedAtMonotonic = clock.monotonic();
  }

  /** Takes a token. Returns false if there is none. */
  tryTake(): boolean {
    if (this.perSecond === 0) return true;
    const nowMonotonic = this.clock.monotonic();
    this.tokens = Math.min(
      this.burst,
      this.tokens + ((nowMonotonic - this.countedAtMonotonic) / 1000) * this.perSecond,
    );
    this.countedAtMonotonic = nowMonotonic;
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }
}
