import { excerpt, type ManifestProblem } from './manifest-problem.ts';

/** More errors or more warnings of a text than this help nobody; the rest is only counted. */
const maxShownProblems = 200;

const maxTextLength = 400;

/** The last line of problems of which only the first are shown. */
export function notShownMessage(count: number): string {
  return `${count} more problems are not shown`;
}

/** The problems of a text that a person is shown: the first of each severity, and texts that fit a screen. */
export class ProblemList {
  readonly #shown: ManifestProblem[] = [];
  readonly #counts = { error: 0, warning: 0 };

  get isEmpty(): boolean {
    return this.#shown.length === 0;
  }

  add(problem: ManifestProblem): void {
    if (this.#counts[problem.severity]++ < maxShownProblems) this.#shown.push(readable(problem));
  }

  addAll(problems: readonly ManifestProblem[]): void {
    for (const problem of problems) this.add(problem);
  }

  /** What to show, with the number of those left out behind it, under the origin of all of them. */
  list(origin: string): ManifestProblem[] {
    const notShown = this.#counts.error + this.#counts.warning - this.#shown.length;
    if (notShown === 0) return this.#shown;
    const severity = this.#counts.error > 0 ? 'error' : 'warning';
    return [...this.#shown, { origin, message: notShownMessage(notShown), severity }];
  }
}

/** Keys and values of a manifest can be of any length, and messages quote them. */
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
