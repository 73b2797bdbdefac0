/** Looks at everything because the rescan is due. */
export const rescan = Symbol('rescan');
/** Looks at everything because a path may have changed. */
export const everything = Symbol('everything');

/** The path of a file, or everything. */
export type Look = string | typeof rescan | typeof everything;

/**
 * Why a look is awaited. `settling`: the state of a file or path is unknown. `revising`: a known file may get a new
 * revision. `held`: a process has a file open that declares nothing yet. `nothing`: a routine look.
 */
export type Waiting = 'settling' | 'revising' | 'held' | 'nothing';

interface Due {
  atMs: number;
  waiting: Waiting;
}

/** The planned looks of the file source. All times are monotonic. */
export class Schedule {
  private readonly due = new Map<Look, Due>();

  /** Time of the next look; Infinity if none is planned. */
  get nextMs(): number {
    return Math.min(...[...this.due.values()].map(({ atMs }) => atMs));
  }

  /** Time of a look. Returns undefined if it is not planned. */
  at(look: Look): number | undefined {
    return this.due.get(look)?.atMs;
  }

  /** Plans a look at that time or earlier. `Infinity` plans nothing. */
  by(look: Look, atMs: number, waiting: Waiting): void {
    if (atMs < (this.at(look) ?? Infinity)) this.due.set(look, { atMs, waiting });
  }

  /** Takes out the due looks. A look at everything takes out all others too. */
  take(now: number): Set<Look> {
    const taken = new Set([...this.due].filter(([, { atMs }]) => atMs <= now).map(([look]) => look));
    if (taken.has(rescan) || taken.has(everything)) this.due.clear();
    for (const look of taken) this.due.delete(look);
    return taken;
  }

  /** True if a look is planned for which `isMeant` is true. */
  has(isMeant: (waiting: Waiting) => boolean): boolean {
    return [...this.due.values()].some(({ waiting }) => isMeant(waiting));
  }
}
