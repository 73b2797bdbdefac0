/** A queue of numbers that returns the lowest first. */
export class LowestFirst {
  /** The numbers at 2n + 1 and 2n + 2 are not lower than that at n. */
  private readonly heap: number[] = [];

  push(value: number): void {
    const { heap } = this;
    let at = heap.length;
    heap.push(value);
    while (at > 0) {
      const above = (at - 1) >>> 1;
      const other = heap[above] ?? value;
      if (other <= value) break;
      heap[at] = other;
      at = above;
    }
    heap[at] = value;
  }

  /** Returns undefined if it is empty. */
  pop(): number | undefined {
    const { heap } = this;
    const [lowest] = heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return lowest;
    let at = 0;
    for (;;) {
      const below = lowerOf(heap, 2 * at + 1);
      const other = heap[below];
      if (other === undefined || other >= last) break;
      heap[at] = other;
      at = below;
    }
    heap[at] = last;
    return lowest;
  }
}

/** The place of the lower of two neighbours. */
function lowerOf(heap: readonly number[], at: number): number {
  const [left, right] = [heap[at], heap[at + 1]];
  return left !== undefined && right !== undefined && right < left ? at + 1 : at;
}
