/** Looks at everything, by the clock alone. */
export const rescan = Symbol('rescan');
/** Looks at everything because a path is not what it was. */
export const everything = Symbol('everything');

/** A file by its path, or everything. */
export type Look = string | typeof rescan | typeof everything;

/**
 * What waits for a look: `settling`, what a file or path is, and nothing is known of it; `revising`, what a known file
 * declares next; `held`, a file that declares nothing yet, which a process may keep open for any time; `nothing`.
 */
export type Waiting = 'settling' | 'revising' | 'held' | 'nothing';

interface Due {
  atMs: number;
  waiting: Waiting;
}

/** When the file source looks at what, in one place. All times are monotonic. */
export class Schedule {
  private readonly due = new Map<Look, Due>();

  /** When the next look is due; Infinity if none is. */
  get nextMs(): number {
    return Math.min(...[...this.due.values()].map(({ atMs }) => atMs));
  }

  /** When something is looked at; undefined if nobody plans to. */
  at(look: Look): number | undefined {
    return this.due.get(look)?.atMs;
  }

  /** Looks at that time or before. `Infinity` plans nothing. */
  by(look: Look, atMs: number, waiting: Waiting): void {
    if (atMs < (this.at(look) ?? Infinity)) this.due.set(look, { atMs, waiting });
  }

  /** Takes out what is due. If everything is, nothing stays. */
  take(now: number): Set<Look> {
    const taken = new Set([...this.due].filter(([, { atMs }]) => atMs <= now).map(([look]) => look));
    if (taken.has(rescan) || taken.has(everything)) this.due.clear();
    for (const look of taken) this.due.delete(look);
    return taken;
  }

  /** True if something of such a kind is planned. */
  has(isMeant: (waiting: Waiting) => boolean): boolean {
    return [...this.due.values()].some(({ waiting }) => isMeant(waiting));
  }
}
