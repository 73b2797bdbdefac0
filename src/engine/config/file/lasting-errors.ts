import type { ManifestProblem } from '../../view/events.ts';

/** Holds back errors of files and paths that only just began to have some, because most of these go away at once. */
export class LastingErrors {
  /** Time from which the errors of an origin are reported, by origin; monotonic. */
  private readonly reportedFromMs = new Map<string, number>();
  /** When the next held errors are to be reported; monotonic. Infinity if none are held. */
  dueMs = Infinity;

  /** The problems to report now: all but the errors of origins that have had errors for less than `afterMs`. */
  lasting(problems: readonly ManifestProblem[], now: number, afterMs: number): ManifestProblem[] {
    const failing = new Set(problems.filter(({ severity }) => severity === 'error').map(({ origin }) => origin));
    for (const origin of this.reportedFromMs.keys()) if (!failing.has(origin)) this.reportedFromMs.delete(origin);
    for (const origin of failing) {
      this.reportedFromMs.set(origin, Math.min(this.reportedFromMs.get(origin) ?? Infinity, now + afterMs));
    }
    const isHeld = (origin: string): boolean => (this.reportedFromMs.get(origin) ?? 0) > now;
    this.dueMs = Math.min(...[...this.reportedFromMs.values()].filter((ms) => ms > now));
    return problems.filter(({ severity, origin }) => severity !== 'error' || !isHeld(origin));
  }
}
