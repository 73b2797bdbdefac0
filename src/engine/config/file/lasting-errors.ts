import type { ManifestProblem } from '../../view/events.ts';

/** Holds back new errors of files and paths, because most of them disappear within a moment. */
export class LastingErrors {
  /** By origin, the time from which its errors are reported; monotonic. */
  private readonly reportedFromMs = new Map<string, number>();
  /** When the next held-back errors are due; monotonic. Infinity if none are held. */
  dueMs = Infinity;

  /** Returns the problems to report now: all except errors of origins that have had errors for less than `afterMs`. */
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
