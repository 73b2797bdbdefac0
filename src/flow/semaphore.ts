/**
 * Limits how much work runs at a time. Work that is aborted before its turn is dropped at once, where the queue of
 * `p-limit` keeps it until its turn. A turn lasts until its work has ended, where that of `p-queue` ends when the work
 * is aborted.
 */
export class Semaphore {
  private running = 0;
  /** Begins each one that waits, the first one first. */
  private readonly waiting = new Set<() => void>();

  constructor(private readonly atATime: number) {}

  /** Returns the result of `work`. Rejects with the signal's reason if it is aborted before the turn of the work. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal = new AbortController().signal): Promise<T> {
    signal.throwIfAborted();
    if (this.running < this.atATime) this.running += 1;
    else await this.acquire(signal);
    try {
      return await work();
    } finally {
      this.release();
    }
  }

  private acquire(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.waiting.delete(begin);
        reject(signal.reason as Error);
      };
      this.waiting.add(begin);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** Gives the turn to the next one. */
  private release(): void {
    const [next] = this.waiting;
    if (next === undefined) this.running -= 1;
    else {
      this.waiting.delete(next);
      next();
    }
  }
}
