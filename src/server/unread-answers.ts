import type { ServerResponse } from 'node:http';

/**
 * Bounds the memory for answers that clients do not read, over all clients. Beyond the limit, closes the answers that
 * have been unread longest, those above their share first. So a client that is only a little behind stays. A single
 * answer may be larger than the limit.
 */
export class UnreadAnswers {
  readonly #maxBytes: number;
  /** Answers not fully read, longest behind first. */
  readonly #behind = new Set<ServerResponse>();
  readonly #known = new WeakSet<ServerResponse>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Must be called after each write to an answer. */
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
