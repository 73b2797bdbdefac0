/** Runs pieces of work one after the other, in the order of their calls. A failed one does not stop the next. */
export class SerialQueue {
  private last: Promise<unknown> = Promise.resolve();
  private count = 0;

  /** True if no work runs or waits. */
  get isIdle(): boolean {
    return this.count === 0;
  }

  /** Resolves or rejects as `work` does, which starts once all earlier work has ended. */
  run<T>(work: () => Promise<T>): Promise<T> {
    this.count++;
    const turn = this.last.then(work).finally(() => {
      this.count--;
    });
    this.last = turn.catch(() => undefined);
    return turn;
  }
}
