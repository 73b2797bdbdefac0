import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import { problemText } from '../../api/values/problem-text.ts';
import { visible } from '../../text/visible-text.ts';

/** That many errors are printed in full. */
const maxInFull = 3;

/** That many files are named. */
const maxFiles = 5;

/**
 * The errors of manifests beside a table of pods. Many of them become one line a file with their number, unless all are
 * wanted.
 */
export function problemLines(errors: readonly ManifestProblem[], now: number, areAllWanted: boolean): string[] {
  if (areAllWanted || errors.length <= maxInFull) return errors.map((error) => problemText(error, now));
  const origins = [...new Set(errors.map(({ origin }) => origin))];
  const named = origins.slice(0, maxFiles);
  const countIn = (isIn: (origin: string) => boolean): string =>
    counted(errors.filter(({ origin }) => isIn(origin)).length, 'error');
  const rest = origins.length - named.length;
  return [
    ...named.map((file) => visible(`${file}: ${countIn((origin) => origin === file)}`)),
    ...(rest > 0 ? [`${counted(rest, 'more file')}: ${countIn((origin) => !named.includes(origin))}`] : []),
    'kubelet-ts ps -o wide prints each error; kubelet-ts validate FILE shows its lines',
  ];
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
