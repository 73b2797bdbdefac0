/**
 * A list that a test can wait on. Each item is returned once, in order, whether it was added before or after the wait
 * began. So a test can act first and then wait: it cannot miss the answer or mistake an old one for a new one.
 */
export class Journal<T> {
  readonly #items: T[] = [];
  readonly #untaken = new Set<T>();
  readonly #waiting = new Set<(item: T) => boolean>();

  get items(): readonly T[] {
    return this.#items;
  }

  add(item: T): void {
    this.#items.push(item);
    for (const offer of this.#waiting) {
      if (offer(item)) return;
    }
    this.#untaken.add(item);
  }

  /** Resolves to the oldest item that matches and was not returned yet, as soon as there is one. */
  next<U extends T>(matches: (item: T) => item is U): Promise<U>;
  next(matches: (item: T) => boolean): Promise<T>;
  next(matches: (item: T) => boolean): Promise<T> {
    for (const item of this.#untaken) {
      if (!matches(item)) continue;
      this.#untaken.delete(item);
      return Promise.resolve(item);
    }
    return new Promise((resolve) => {
      const offer = (item: T): boolean => {
        if (!matches(item)) return false;
        this.#waiting.delete(offer);
        resolve(item);
        return true;
      };
      this.#waiting.add(offer);
    });
  }
}
