import { visible } from '../../text/visible-text.ts';
import { pressureText } from '../view/pressure-text.ts';
import type { EngineSnapshot } from '../view/snapshot.ts';
import { problemLines } from './problem-lines.ts';

/**
 * Lines about the node and the errors of its manifests, which `ps` prints next to the pods. With `wide` each error has
 * one. Warnings were logged when they were new, and `validate` prints them.
 */
export function nodeWarnings(
  { sources, pressures, runtime, pods }: EngineSnapshot,
  { wide, now }: { wide: boolean; now: number },
): string[] {
  const errors = sources.flatMap(({ problems }) => problems.filter(({ severity }) => severity === 'error'));
  return [
    ...(runtime.error === undefined ? [] : [visible(`error: ${runtime.error}`)]),
    ...pressures.map((pressure) => visible(`warning: node ${pressureText(pressure, now)}`)),
    ...undeclaredLines(pods.filter(({ isUndeclared }) => isUndeclared).length),
    ...problemLines(errors, now, wide),
  ];
}

function undeclaredLines(count: number): string[] {
  if (count === 0) return [];
  const what = count === 1 ? '1 pod is' : `${count} pods are`;
  const them = count === 1 ? 'it' : 'them';
  return [`warning: ${what} kept without a manifest; to remove ${them}: kubelet-ts run MANIFESTS --prune`];
}
