import { visible } from '../../visible-text.ts';
import { pressureText } from '../view/pressure-text.ts';
import type { EngineSnapshot } from '../view/snapshot.ts';
import { problemLines } from './problem-lines.ts';

/** Lines about the node and its manifests, which `ps` prints beside the pods. With `wide` each problem has one. */
export function nodeWarnings(
  { sources, pressures, runtime }: EngineSnapshot,
  { wide, now }: { wide: boolean; now: number },
): string[] {
  const problems = sources.flatMap((source) => source.problems);
  return [
    ...(runtime.error === undefined ? [] : [visible(`error: ${runtime.error}`)]),
    ...pressures.map((pressure) => visible(`warning: node ${pressureText(pressure, now)}`)),
    ...problemLines(problems, now, wide),
  ];
}
