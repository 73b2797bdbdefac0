import type { ManifestProblem } from '../engine/view/events.ts';
import type { EngineSnapshot } from '../engine/view/snapshot.ts';
import type { Line } from './line.ts';

/** All current problems of manifests, errors first. File names are relative to their source's folder. */
export function manifestProblems(snapshot: EngineSnapshot): ManifestProblem[] {
  const problems = snapshot.sources.flatMap(({ where, problems }) =>
    problems.map((problem) => ({ ...problem, origin: withoutFolder(problem.origin, where) })),
  );
  return [...problems.filter(isError), ...problems.filter((problem) => !isError(problem))];
}

/** Position and message of a problem, then its hint on its own line. */
export function problemLines(problems: readonly ManifestProblem[]): Line[] {
  return problems.flatMap((problem) => {
    const what: Line = {
      spans: [
        { text: `${problem.severity} `, color: isError(problem) ? 'red' : 'yellow' },
        { text: position(problem), bold: true },
        { text: ` ${problem.field === undefined ? '' : `${problem.field}: `}${problem.message}` },
      ],
    };
    return problem.hint === undefined
      ? [what]
      : [what, { spans: [{ text: `  hint: ${problem.hint}`, color: 'cyan' }] }];
  });
}

function withoutFolder(origin: string, where: string): string {
  return origin.startsWith(`${where}/`) ? origin.slice(where.length + 1) : origin;
}

function isError(problem: ManifestProblem): boolean {
  return problem.severity === 'error';
}

/** `file:line:column`, as editors and compilers write it. */
function position(problem: ManifestProblem): string {
  return [problem.origin, problem.line, problem.column].filter((part) => part !== undefined).join(':');
}
