/** Limits a rate: `burst` at once, then `perSecond`. Go: client-go util/flowcontrol */
export class TokenBucket {
  private readonly clock: { monotonic(): number };
  private readonly perSecond: number;
  private readonly burst: number;
  private tokens: number;
  private countedAt: number;

  /** If `perSecond` is 0, there is no limit. */
  constructor({ perSecond, burst, clock }: { perSecond: number; burst: number; clock: { monotonic(): number } }) {
    this.clock = clock;
    this.perSecond = perSecond;
    this.burst = burst;
    this.tokens = burst;
    this.countedAt = clock.monotonic();
  }

  /** Takes a token. Returns false if there is none. */
  tryTake(): boolean {
    if (this.perSecond === 0) return true;
    const now = this.clock.monotonic();
    this.tokens = Math.min(this.burst, this.tokens + ((now - this.countedAt) / 1000) * this.perSecond);
    this.countedAt = now;
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }
}
