import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import { problemText } from '../../api/values/problem-text.ts';
import { visible } from '../../visible-text.ts';

/** That many problems are printed in full. */
const maxInFull = 3;

/** That many files are named. */
const maxFiles = 5;

/**
 * The problems of manifests beside a table of pods, errors first. Many of them become one line a file with their
 * number, unless all are wanted.
 */
export function problemLines(problems: readonly ManifestProblem[], now: number, areAllWanted: boolean): string[] {
  const sorted = problems.toSorted((a, b) => Number(b.severity === 'error') - Number(a.severity === 'error'));
  if (areAllWanted || sorted.length <= maxInFull) return sorted.map((problem) => problemText(problem, now));
  const origins = [...new Set(sorted.map(({ origin }) => origin))];
  const named = origins.slice(0, maxFiles);
  const others = sorted.filter(({ origin }) => !named.includes(origin));
  const hasOthers = others.length > 0;
  return [
    ...named.map((file) => visible(`${file}: ${countText(sorted.filter(({ origin }) => origin === file))}`)),
    ...(hasOthers ? [`${counted(origins.length - named.length, 'more file')}: ${countText(others)}`] : []),
    'kubelet-ts ps -o wide prints each problem; kubelet-ts validate FILE shows its lines',
  ];
}

/** Such as `2 errors, 1 warning`. */
function countText(problems: readonly ManifestProblem[]): string {
  return (['error', 'warning'] as const)
    .map((severity) => [problems.filter((problem) => problem.severity === severity).length, severity] as const)
    .filter(([count]) => count > 0)
    .map(([count, severity]) => counted(count, severity))
    .join(', ');
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
