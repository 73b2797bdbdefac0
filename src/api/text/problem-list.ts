import { excerpt, type ManifestProblem } from './manifest-problem.ts';

/** Maximum number of problems shown per severity of a text. The rest are only counted. */
const maxShownProblems = 200;

const maxTextLength = 400;

/** The text and count of the last entry in a shortened list of problems. */
export function notShown(count: number): Required<Pick<ManifestProblem, 'message' | 'notShown'>> {
  return { message: `${count} more problems are not shown`, notShown: count };
}

/** The problems of a text, shortened for people: the first ones of each severity, with messages that fit a screen. */
export class ProblemList {
  private readonly shown: ManifestProblem[] = [];
  private readonly counts = { error: 0, warning: 0, note: 0 };
  private notShown = 0;

  get isEmpty(): boolean {
    return this.shown.length === 0;
  }

  /** Adds a problem, or the number of those that a shortened list of one object left out. */
  add(problem: ManifestProblem): void {
    if (problem.notShown !== undefined) this.notShown += problem.notShown;
    else if (this.counts[problem.severity]++ < maxShownProblems) this.shown.push(readable(problem));
    else this.notShown++;
  }

  addAll(problems: readonly ManifestProblem[]): void {
    for (const problem of problems) this.add(problem);
  }

  /** The problems to show. If some are left out, the last entry has their number and `origin`. */
  list(origin: string): ManifestProblem[] {
    if (this.notShown === 0) return this.shown;
    const severity = (['error', 'warning'] as const).find((one) => this.counts[one] > 0) ?? 'note';
    return [...this.shown, { origin, ...notShown(this.notShown), severity }];
  }
}

/** Shortens the texts, because messages quote keys and values of any length. */
function readable(problem: ManifestProblem): ManifestProblem {
  const { field, hint, message } = problem;
  if ([field, hint, message].every((text) => text === undefined || text.length <= maxTextLength)) return problem;
  return {
    ...problem,
    message: excerpt(message, maxTextLength),
    ...(field !== undefined && { field: excerpt(field, maxTextLength) }),
    ...(hint !== undefined && { hint: excerpt(hint, maxTextLength) }),
  };
}
