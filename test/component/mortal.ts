import type { Clock } from '../../src/clock.ts';
import { wrapMethods } from './wrap-methods.ts';

/** Wraps the clock and the services of an engine. After `end`, they never answer and no timer fires. */
export class Mortal {
  #hasEnded = false;

  /** Ends the engine like SIGKILL: none of its `catch` and `finally` blocks runs. */
  end(): void {
    this.#hasEnded = true;
  }

  clock(clock: Clock): Clock {
    return {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      sleep: (ms, options) => this.#whileAlive(clock.sleep(ms, options)),
      after: (ms, fn) =>
        clock.after(ms, () => {
          if (!this.#hasEnded) fn();
        }),
    };
  }

  /** Wraps a service whose methods return promises or streams. */
  service<S extends object>(service: S): S {
    return wrapMethods(service, (answer) => {
      if (answer instanceof Promise) return this.#whileAlive(answer);
      return isStream(answer) ? this.#streamWhileAlive(answer) : answer;
    });
  }

  async #whileAlive<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } finally {
      if (this.#hasEnded) await forever();
    }
  }

  async *#streamWhileAlive(messages: AsyncIterable<unknown>): AsyncGenerator<unknown, void> {
    try {
      for await (const message of messages) {
        if (this.#hasEnded) await forever();
        yield message;
      }
    } finally {
      if (this.#hasEnded) await forever();
    }
  }
}

const isStream = (answer: unknown): answer is AsyncIterable<unknown> =>
  typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer;

const forever = (): Promise<never> => new Promise(() => undefined);
