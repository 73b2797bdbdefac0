import type { FieldProblem } from '../decoding/manifest-object.ts';
import { notShownMessage } from '../text/problem-list.ts';

/** Problems of one object that are reported, because hints and places for thousands take long. */
const maxProblems = 50;

/** The problems of the first entries of `wrong`, and one that counts the rest. */
export function firstProblems<T>(wrong: readonly T[], toProblem: (wrong: T) => FieldProblem): FieldProblem[] {
  const shown = wrong.slice(0, maxProblems).map(toProblem);
  const notShown = wrong.length - shown.length;
  if (notShown > 0) shown.push({ field: '', message: notShownMessage(notShown), severity: 'warning' });
  return shown;
}
