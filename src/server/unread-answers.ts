import type { ServerResponse } from 'node:http';

/**
 * Bounds what clients that do not read leave in the memory of this process, all of them together: beyond the limit the
 * connection that is furthest behind goes. A single answer may be larger than the limit.
 */
export class UnreadAnswers {
  readonly #maxBytes: number;
  readonly #open = new Set<ServerResponse>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** To be called for each answer whenever something was written to it. */
  note(response: ServerResponse): void {
    if (!this.#open.has(response)) {
      this.#open.add(response);
      response.once('close', () => this.#open.delete(response));
    }
    const unread = [...this.#open].sort((a, b) => b.writableLength - a.writableLength);
    let bytes = unread.reduce((sum, { writableLength }) => sum + writableLength, 0);
    for (const furthest of unread) {
      if (bytes <= this.#maxBytes || this.#open.size < 2) return;
      bytes -= furthest.writableLength;
      this.#open.delete(furthest);
      furthest.destroy();
    }
  }
}
