import type { ManifestProblem } from '../text/manifest-problem.ts';
import { humanDuration } from './duration.ts';
import { visible } from '../../text/visible-text.ts';

/**
 * A problem on one line, as compilers print it: `file:line:column: error: field: message (hint)`. `now`, in
 * milliseconds since the epoch, gives the age of the revision that runs instead.
 */
export function problemText(problem: ManifestProblem, now: number): string {
  const { origin, line, column, severity, field, message, hint, lastGoodAt } = problem;
  const where = [origin, line, column].filter((part) => part !== undefined).join(':');
  const what = [field, message].filter((part) => part !== undefined).join(': ');
  const age = lastGoodAt === undefined ? '' : `, read ${humanDuration(now - lastGoodAt)} ago`;
  return visible(`${where}: ${severity}: ${what}${age}${hint === undefined ? '' : ` (${hint})`}`);
}
