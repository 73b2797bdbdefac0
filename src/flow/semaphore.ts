/**
 * Limits how many tasks run at a time. Unlike with `p-limit`, aborted tasks leave the queue at once. Unlike with
 * `p-queue`, a running task that is aborted holds its slot until it has finished.
 */
export class Semaphore {
  private running = 0;
  /** Starts the waiting tasks, oldest first. */
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

  /** Starts the next waiting task. */
  private release(): void {
    const [next] = this.waiting;
    if (next === undefined) this.running -= 1;
    else {
      this.waiting.delete(next);
      next();
    }
  }
}
