import type { ManifestProblem } from '../api/manifest-problem.ts';

/** A problem on one line, as compilers write them: `file:line:column: error: field: message (hint)`. */
export function problemText({ origin, line, column, severity, field, message, hint }: ManifestProblem): string {
  const where = [origin, line, column].filter((part) => part !== undefined).join(':');
  const what = [field, message].filter((part) => part !== undefined).join(': ');
  return `${where}: ${severity}: ${what}${hint === undefined ? '' : ` (${hint})`}`;
}
