/**
 * Limits how many pieces of work run at a time. Unlike in `p-limit`, aborted work leaves the queue at once. Unlike in
 * `p-queue`, running work that is aborted holds its slot until it has finished.
 */
export class Semaphore {
  private running = 0;
  /** Starts the work that waits, oldest first. */
  private readonly waiting = new Set<() => void>();

  constructor(private readonly atATime: number) {}

  /** Returns the result of `work`. Rejects with the signal's reason if it is aborted before the work starts. */
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

  /** Starts the next waiting work. */
  private release(): void {
    const [next] = this.waiting;
    if (next === undefined) this.running -= 1;
    else {
      this.waiting.delete(next);
      next();
    }
  }
}
