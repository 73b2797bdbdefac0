import { visible } from '../../visible-text.ts';
import { pressureText } from '../view/pressure-text.ts';
import type { EngineSnapshot } from '../view/snapshot.ts';
import { problemLines } from './problem-lines.ts';

/** Lines about the node and its manifests, which `ps` prints beside the pods. With `wide` each problem has one. */
export function nodeWarnings(
  { sources, pressures, runtime, pods }: EngineSnapshot,
  { wide, now }: { wide: boolean; now: number },
): string[] {
  const problems = sources.flatMap((source) => source.problems);
  return [
    ...(runtime.error === undefined ? [] : [visible(`error: ${runtime.error}`)]),
    ...pressures.map((pressure) => visible(`warning: node ${pressureText(pressure, now)}`)),
    ...undeclaredLines(pods.filter(({ isUndeclared }) => isUndeclared).length),
    ...problemLines(problems, now, wide),
  ];
}

function undeclaredLines(count: number): string[] {
  if (count === 0) return [];
  const what = count === 1 ? '1 pod is' : `${count} pods are`;
  const them = count === 1 ? 'it' : 'them';
  return [`warning: ${what} kept without a manifest; to remove ${them}: kubelet-ts run MANIFESTS --prune`];
}
