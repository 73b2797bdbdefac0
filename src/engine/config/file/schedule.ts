/** Means a check of all files and paths. */
export const everything = Symbol('everything');

/** The path of a file, or everything. */
export type Look = string | typeof everything;

/** The planned checks of the file source. All times are monotonic. */
export class Schedule {
  private readonly due = new Map<Look, { atMs: number; isAwaited: boolean }>();

  /** Time of the next check; Infinity if none is planned. */
  get nextMs(): number {
    return Math.min(...[...this.due.values()].map(({ atMs }) => atMs));
  }

  /** True if a complete list needs the result of a planned check. Nothing waits for routine checks. */
  get isAwaited(): boolean {
    return [...this.due.values()].some((due) => due.isAwaited);
  }

  has(look: Look): boolean {
    return this.due.has(look);
  }

  /** Plans a check at that time or earlier. `Infinity` plans nothing. */
  by(look: Look, atMs: number, isAwaited: boolean): void {
    if (atMs === Infinity) return;
    const planned = this.due.get(look);
    const earliestMs = Math.min(atMs, planned?.atMs ?? Infinity);
    this.due.set(look, { atMs: earliestMs, isAwaited: isAwaited || planned?.isAwaited === true });
  }

  /** Removes the due checks and returns them. A check of everything removes all others too. */
  take(now: number): Set<Look> {
    const taken = new Set([...this.due].filter(([, { atMs }]) => atMs <= now).map(([look]) => look));
    if (taken.has(everything)) this.due.clear();
    for (const look of taken) this.due.delete(look);
    return taken;
  }
}
