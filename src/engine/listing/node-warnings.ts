import { visible } from '../../text/visible-text.ts';
import { pressureText } from '../view/pressure-text.ts';
import { reasons } from '../view/reasons.ts';
import type { EngineSnapshot, StatusURLSnapshot, WorkloadSnapshot } from '../view/snapshot.ts';
import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import { humanDuration } from '../../api/values/duration.ts';
import { problemText } from '../../api/values/problem-text.ts';

/** How many errors are printed in full. */
const maxProblemsInFull = 3;

/** How many files are named. */
const maxProblemFiles = 5;

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/**
 * Returns lines about the node and the errors of its manifests, which `ps` prints with the pods. With `wide` there is
 * one line per error. Warnings are not included: they were logged when they were new, and `validate` prints them.
 */
export function nodeWarnings(
  { sources, pressures, runtime, pods, statusURLs = [], workloads = [] }: EngineSnapshot,
  { wide, now }: { wide: boolean; now: number },
): string[] {
  const errors = sources.flatMap(({ problems }) => problems.filter(({ severity }) => severity === 'error'));
  return [
    ...(runtime.error === undefined ? [] : [visible(`error: ${runtime.error}`)]),
    ...pressures.map((pressure) => visible(`warning: node ${pressureText(pressure, now)}`)),
    ...statusURLs.flatMap((url) => statusURLLines(url, now)),
    ...workloads.flatMap(unwrittenLines),
    ...undeclaredLines(pods.filter(({ isUndeclared }) => isUndeclared).length),
    ...problemLines(errors, now, wide),
  ];
}

function statusURLLines({ where, acceptedAt, failure }: StatusURLSnapshot, now: number): string[] {
  if (failure === undefined) return [];
  const last = acceptedAt === undefined ? 'no status yet' : `no status since ${new Date(acceptedAt).toISOString()}`;
  const forText = `tried for ${humanDuration(Math.max(0, now - failure.since))}`;
  return [visible(`warning: ${where} has accepted ${last} (${forText}): ${failure.message}`)];
}

function unwrittenLines({ kind, namespace, name, conditions }: WorkloadSnapshot): string[] {
  const unwritten = conditions.filter(({ reason }) => reason === reasons.recordNotWritten);
  return unwritten.map(({ message }) => visible(`warning: ${kind} ${namespace}/${name}: ${message}`));
}

function undeclaredLines(count: number): string[] {
  if (count === 0) return [];
  const what = count === 1 ? '1 pod is' : `${count} pods are`;
  const them = count === 1 ? 'it' : 'them';
  return [`warning: ${what} kept without a manifest; to remove ${them}: kubelet-ts run MANIFESTS --prune`];
}

/**
 * Returns the errors of manifests, to print with a table of pods. If there are many, each file gets one line with their
 * number, unless all are wanted.
 */
export function problemLines(errors: readonly ManifestProblem[], now: number, areAllWanted: boolean): string[] {
  if (areAllWanted || errors.length <= maxProblemsInFull) return errors.map((error) => problemText(error, now));
  const origins = [...new Set(errors.map(({ origin }) => origin))];
  const named = origins.slice(0, maxProblemFiles);
  const countIn = (isIn: (origin: string) => boolean): string =>
    counted(errors.filter(({ origin }) => isIn(origin)).length, 'error');
  const rest = origins.length - named.length;
  return [
    ...named.map((file) => visible(`${file}: ${countIn((origin) => origin === file)}`)),
    ...(rest > 0 ? [`${counted(rest, 'more file')}: ${countIn((origin) => !named.includes(origin))}`] : []),
    'kubelet-ts ps -o wide prints each error; kubelet-ts validate FILE shows its lines',
  ];
}
