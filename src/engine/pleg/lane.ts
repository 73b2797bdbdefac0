/**
 * Runs one task at a time, with at most one waiting.
 *
 * INVARIANT: a waiting task starts after it was requested, so it serves every caller that requests it in the meantime.
 */
export class Lane {
  private underWay: Promise<void> | undefined;
  private waiting: Promise<void> | undefined;

  get isBusy(): boolean {
    return this.underWay !== undefined || this.waiting !== undefined;
  }

  /** Runs the task now, or after the running one. It must not reject. */
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
