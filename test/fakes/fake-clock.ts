import type { Clock } from '../../src/clock.ts';

interface Timer {
  readonly dueMs: number;
  readonly fire: () => void;
}

/** A clock that moves only when the test moves it. */
export class FakeClock implements Clock {
  #monotonicMs = 0;
  #wallMs: number;
  readonly #timers = new Set<Timer>();

  constructor(wallMs: number = Date.UTC(2025, 0, 1)) {
    this.#wallMs = wallMs;
  }

  /** Number of sleeps and `after` timers that have not fired yet. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Milliseconds until the next timer is due, or Infinity if there is none. */
  get untilNextTimerMs(): number {
    const next = this.#nextDue(Infinity);
    return next === undefined ? Infinity : next.dueMs - this.#monotonicMs;
  }

  now(): number {
    return this.#wallMs;
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  sleep(ms: number, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const cancel = this.after(ms, () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      });
      const abort = (): void => {
        cancel();
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  after(ms: number, fn: () => void): () => void {
    const timer: Timer = { dueMs: this.#monotonicMs + Math.max(0, ms), fire: fn };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  /**
   * Moves both times forward and fires each timer on the way at the moment when it is due. Whatever a timer sets off
   * completes, as far as it waits only for promises, before the next timer fires and before this returns.
   */
  async advance(ms: number): Promise<void> {
    const targetMs = this.#monotonicMs + ms;
    await settle();
    for (let timer = this.#nextDue(targetMs); timer !== undefined; timer = this.#nextDue(targetMs)) {
      this.#timers.delete(timer);
      // The timer may be overdue after a leap.
      this.#moveTo(Math.max(this.#monotonicMs, timer.dueMs));
      timer.fire();
      await settle();
    }
    this.#moveTo(targetMs);
  }

  /** Moves both times forward in one step, as on a machine that was suspended. Then fires each due timer once. */
  async leap(ms: number): Promise<void> {
    await settle();
    this.#moveTo(this.#monotonicMs + ms);
    await this.advance(0);
  }

  /** Moves to the next timer and returns by how many milliseconds. */
  async advanceToNextTimer(): Promise<number> {
    const ms = this.untilNextTimerMs;
    if (ms === Infinity) return 0;
    await this.advance(ms);
    return ms;
  }

  /** Makes wall time jump, as when someone sets the machine's clock. Monotonic time and timers are not affected. */
  setWallClock(ms: number): void {
    this.#wallMs = ms;
  }

  #moveTo(monotonicMs: number): void {
    this.#wallMs += monotonicMs - this.#monotonicMs;
    this.#monotonicMs = monotonicMs;
  }

  #nextDue(untilMs: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueMs <= untilMs && (next === undefined || timer.dueMs < next.dueMs)) next = timer;
    }
    return next;
  }
}

/** Lets every promise chain run as far as it can: all microtasks complete before the event loop's next phase. */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
