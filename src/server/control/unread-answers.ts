import type { ServerResponse } from 'node:http';
import type { Clock } from '../../clock.ts';

/** Milliseconds that an answer may be unread before it counts. Our own clients give up after this time. */
const graceMs = 2000;

interface Deps {
  /** Limit on unread bytes of all clients. Answers within their `graceMs` may take as much again. */
  maxBytes: number;
  clock: Pick<Clock, 'monotonic' | 'after'>;
}

/**
 * Bounds the memory for answers that clients do not read, over all clients. Beyond the limit, closes the answers that
 * have been unread longest, those above their share first. So a client that is only a little behind stays, and so does
 * one that fell behind only now. A single answer may be larger than the limit.
 */
export class UnreadAnswers {
  readonly #deps: Deps;
  /** Monotonic time from which each answer was not fully read. Longest behind first. */
  readonly #behindSince = new Map<ServerResponse, number>();
  readonly #known = new WeakSet<ServerResponse>();
  #isCheckDue = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Must be called after each write to an answer. */
  note(response: ServerResponse): void {
    this.noteAll([response]);
  }

  /** The same for writes to several answers. */
  noteAll(responses: Iterable<ServerResponse>): void {
    const now = this.#deps.clock.monotonic();
    for (const response of responses) {
      this.#follow(response);
      if (!this.#behindSince.has(response)) this.#behindSince.set(response, now);
    }
    for (const answer of this.#behindSince.keys()) if (answer.writableLength === 0) this.#behindSince.delete(answer);
    this.#bound();
  }

  #bound(): void {
    const { maxBytes, clock } = this.#deps;
    if (this.#bytes() <= maxBytes) return;
    const all = [...this.#behindSince];
    const lateMonotonic = clock.monotonic() - graceMs;
    const late = all.filter(([, since]) => since <= lateMonotonic).map(([answer]) => answer);
    this.#closeBeyond(maxBytes, late);
    const allButNewest = all.slice(0, -1).map(([answer]) => answer);
    this.#closeBeyond(2 * maxBytes, allButNewest);
    if (this.#isCheckDue || this.#bytes() <= maxBytes) return;
    this.#isCheckDue = true;
    clock.after(graceMs, () => {
      this.#isCheckDue = false;
      this.#bound();
    });
  }

  /** Closes some of `closable`, which are in the order of `#behindSince`. */
  #closeBeyond(maxBytes: number, closable: readonly ServerResponse[]): void {
    const share = maxBytes / this.#behindSince.size;
    const greedy = closable.filter(({ writableLength }) => writableLength > share);
    let bytes = this.#bytes();
    for (const answer of new Set([...greedy, ...closable])) {
      if (bytes <= maxBytes || this.#behindSince.size < 2) return;
      if (!this.#behindSince.delete(answer)) continue;
      bytes -= answer.writableLength;
      answer.destroy();
    }
  }

  #bytes(): number {
    return [...this.#behindSince.keys()].reduce((sum, { writableLength }) => sum + writableLength, 0);
  }

  #follow(response: ServerResponse): void {
    if (this.#known.has(response)) return;
    this.#known.add(response);
    const forget = (): void => {
      this.#behindSince.delete(response);
    };
    response.on('drain', forget).once('close', forget);
  }
}
