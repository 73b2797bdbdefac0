/**
 * At most one piece of work at a time, and at most one that waits.
 *
 * INVARIANT: work that waits begins after it was asked for, so it serves every caller that asks meanwhile.
 */
export class Lane {
  private underWay: Promise<void> | undefined;
  private waiting: Promise<void> | undefined;

  get isBusy(): boolean {
    return this.underWay !== undefined || this.waiting !== undefined;
  }

  /** Runs the work now, or after what is under way. It must not reject. */
  run(work: () => Promise<void>): Promise<void> {
    if (this.underWay === undefined) return this.begin(work);
    this.waiting ??= this.underWay.then(() => {
      this.waiting = undefined;
      return this.begin(work);
    });
    return this.waiting;
  }

  private begin(work: () => Promise<void>): Promise<void> {
    this.underWay = work().finally(() => {
      this.underWay = undefined;
    });
    return this.underWay;
  }
}
