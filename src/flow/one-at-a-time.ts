/** Runs pieces of work one after the other, in the order of their calls. A failed one does not stop the next. */
export class OneAtATime {
  private last: Promise<unknown> = Promise.resolve();

  /** Resolves or rejects as `work` does, which starts once all earlier work has ended. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.last.then(work);
    this.last = turn.catch(() => undefined);
    return turn;
  }
}
