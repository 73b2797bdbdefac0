/** An unbounded first-in-first-out queue with one reader. `push` never blocks, `pull` waits. */
export class AsyncQueue<T> {
  private readonly items: T[] = [];
  private wake: (() => void) | undefined;

  push(item: T): void {
    this.items.push(item);
    this.wake?.();
  }

  get length(): number {
    return this.items.length;
  }

  /** Removes and returns the oldest item. Waits while the queue is empty. Rejects with the signal's reason. */
  async pull(signal: AbortSignal): Promise<T> {
    for (;;) {
      signal.throwIfAborted();
      const item = this.items.shift();
      if (item !== undefined) return item;
      await this.pushed(signal);
    }
  }

  private pushed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.wake = undefined;
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.wake = done;
      signal.addEventListener('abort', done, { once: true });
    });
  }
}
