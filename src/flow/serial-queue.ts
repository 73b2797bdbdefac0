/** Runs tasks one after another, in the order in which they were added. If one fails, the next still runs. */
export class SerialQueue {
  private last: Promise<unknown> = Promise.resolve();
  private count = 0;

  /** True if no task is running or waiting. */
  get isIdle(): boolean {
    return this.count === 0;
  }

  /** Starts `work` once all earlier tasks have finished. Resolves or rejects as it does. */
  run<T>(work: () => Promise<T>): Promise<T> {
    this.count++;
    const turn = this.last.then(work).finally(() => {
      this.count--;
    });
    this.last = turn.catch(() => undefined);
    return turn;
  }
}
