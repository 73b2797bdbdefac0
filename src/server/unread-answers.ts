import type { ServerResponse } from 'node:http';

/**
 * Bounds what clients that do not read leave in the memory of this process, all of them together: beyond the limit the
 * answers go that have been behind for longest, those with more than their share of it first. So a client that is a little
 * behind stays. One answer may be larger than the limit.
 */
export class UnreadAnswers {
  readonly #maxBytes: number;
  /** Answers that are not read to their end, longest behind first. */
  readonly #behind = new Set<ServerResponse>();
  readonly #known = new WeakSet<ServerResponse>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** To be called for each answer whenever something was written to it. */
  note(response: ServerResponse): void {
    this.#follow(response);
    const isNew = !this.#behind.has(response);
    this.#behind.add(response);
    let bytes = 0;
    for (const answer of this.#behind) {
      bytes += answer.writableLength;
      if (answer.writableLength === 0) this.#behind.delete(answer);
    }
    if (bytes <= this.#maxBytes) return;
    const share = this.#maxBytes / this.#behind.size;
    const greedy = [...this.#behind].filter((it) => it.writableLength > share && !(isNew && it === response));
    for (const longest of new Set([...greedy, ...this.#behind])) {
      if (bytes <= this.#maxBytes || this.#behind.size < 2) return;
      bytes -= longest.writableLength;
      this.#behind.delete(longest);
      longest.destroy();
    }
  }

  #follow(response: ServerResponse): void {
    if (this.#known.has(response)) return;
    this.#known.add(response);
    const forget = (): void => {
      this.#behind.delete(response);
    };
    response.on('drain', forget).once('close', forget);
  }
}
