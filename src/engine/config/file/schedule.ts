/** Means a check of all files and paths. */
export const everything = Symbol('everything');

/** The path of a file, or everything. */
export type Check = string | typeof everything;

/** The planned checks of the file source. All times are monotonic. */
export class Schedule {
  private readonly due = new Map<Check, { atMs: number; isAwaited: boolean }>();

  /** Time of the next check; Infinity if none is planned. */
  get nextMs(): number {
    return Math.min(...[...this.due.values()].map(({ atMs }) => atMs));
  }

  /** True if a complete list needs the result of a planned check. Nothing waits for routine checks. */
  get isAwaited(): boolean {
    return [...this.due.values()].some((due) => due.isAwaited);
  }

  has(check: Check): boolean {
    return this.due.has(check);
  }

  /** Plans a check at that time or earlier. `Infinity` plans nothing. */
  by(check: Check, atMs: number, isAwaited: boolean): void {
    if (atMs === Infinity) return;
    const planned = this.due.get(check);
    const earliestMs = Math.min(atMs, planned?.atMs ?? Infinity);
    this.due.set(check, { atMs: earliestMs, isAwaited: isAwaited || planned?.isAwaited === true });
  }

  /** Removes the due checks and returns them. A check of everything removes all others too. */
  takeDue(now: number): Set<Check> {
    const removed = new Set([...this.due].filter(([, { atMs }]) => atMs <= now).map(([check]) => check));
    if (removed.has(everything)) this.due.clear();
    for (const check of removed) this.due.delete(check);
    return removed;
  }
}
