import { humanDuration } from '../../api/values/duration.ts';
import type { Evidence } from '../../engine/explain/explanation.ts';
import { printable } from '../../text/visible-text.ts';
import { paint, type Painter } from '../io/paint.ts';
import { quotedLine } from '../io/quoted-line.ts';
import type { WorkloadExplanation } from './explained-workload.ts';
import type { LocatedExplanation } from './explained-pod.ts';
import type { ServiceExplanation } from './explained-service.ts';

type Explained = Omit<LocatedExplanation, 'stage'> & Pick<LocatedExplanation | ServiceExplanation, 'stage'>;

/** An explanation for a person. `now` is in milliseconds since the epoch. */
export function explanationText(explanation: Explained, now: number, painter: Painter = paint(false)): string {
  const { namespace, name, stage, cause, container, nextTryAt, nextTryWhen } = explanation;
  const isGood = (stage === 'running' || stage === 'serving') && explanation.fixes.length === 0;
  const title = `${painter('bold', printable(`${namespace}/${name}`))}: ${painter(isGood ? 'green' : 'red', stage)}`;
  const next =
    nextTryAt === undefined || nextTryAt <= now
      ? nextTryWhen && `Next try: when ${nextTryWhen}`
      : `Next try: in ${humanDuration(nextTryAt - now)}`;
  return [
    title,
    `  ${printable(container === undefined ? cause : `container ${container}: ${withoutName(cause, container)}`)}`,
    ...(next === undefined ? [] : [`  ${next}`]),
    ...placeLines(explanation, painter),
    ...section(
      'Evidence',
      explanation.evidence.flatMap((one) => evidenceLines(one, now)),
      painter,
    ),
    ...section(
      'Warnings about its manifest',
      (explanation.warnings ?? []).flatMap((one) => evidenceLines(one, now)),
      painter,
    ),
    ...section(
      'What to do',
      explanation.fixes.map((fix) => `- ${printable(fix)}`),
      painter,
    ),
    '',
  ].join('\n');
}

/** An explanation of a workload, and those of its pods that are not well. */
export function workloadExplanationText(
  { namespace, name, isGood, cause, evidence, fixes }: WorkloadExplanation,
  pods: readonly LocatedExplanation[],
  now: number,
  painter: Painter = paint(false),
): string {
  const title = `${painter('bold', printable(`${namespace}/${name}`))}: ${painter(isGood ? 'green' : 'red', printable(cause))}`;
  const lines = evidence.flatMap((one) => evidenceLines(one, now));
  const own = [
    title,
    ...section('Evidence', lines, painter),
    ...section(
      'What to do',
      fixes.map((fix) => `- ${printable(fix)}`),
      painter,
    ),
    '',
  ].join('\n');
  return [own, ...pods.map((pod) => explanationText(pod, now, painter))].join('\n');
}

const withoutName = (cause: string, container: string): string =>
  cause.startsWith(`${container}: `) ? cause.slice(container.length + 2) : cause;

/** The line of the manifest with the fault, with a mark below. */
function placeLines({ place, text, field }: Explained, painter: Painter): string[] {
  if (place === undefined || text === undefined) return [];
  const quoted = quotedLine(text, place);
  return [
    '',
    `  ${painter('bold', printable(`${place.file}:${place.line}:${place.column}`))}: ${printable(field ?? '')}`,
    ...(quoted === undefined ? [] : [quoted.line, painter('red', quoted.mark)]),
  ];
}

function evidenceLines({ from, at, text }: Evidence, now: number): string[] {
  const age = at === undefined ? '' : ` (${humanDuration(now - at)} ago)`;
  const [first = '', ...more] = text.split('\n').map(printable);
  if (more.length === 0) return [`${printable(from)}${age}: ${first}`];
  return [`${printable(from)}${age}:`, ...[first, ...more].map((line) => `  ${line}`)];
}

function section(title: string, lines: readonly string[], painter: Painter): string[] {
  return lines.length === 0 ? [] : ['', painter('bold', `${title}:`), ...lines.map((line) => `  ${line}`)];
}
