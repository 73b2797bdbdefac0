import { styleText } from 'node:util';
import { visible } from '../../text/visible-text.ts';
import type { NodeDiff, PodChange } from '../../node/diff/compute-node-diff.ts';
import type { ConfigObjectChange } from '../../node/diff/config-object-changes.ts';
import type { FieldDifference } from '../../node/diff/field-differences.ts';

/** One line per pod, its changed fields below, and the counts at the end. */
export function nodeDiffText({ pods, configObjects }: NodeDiff, isColoured: boolean): string {
  const lines = [
    ...pods.flatMap((pod) => podLines(pod, isColoured)),
    ...configObjects.flatMap((object) => configObjectLines(object, isColoured)),
    summary(pods, configObjects),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

const marks = {
  start: '+',
  stop: '-',
  restart: '~',
  update: '~',
  stay: '=',
  add: '+',
  remove: '-',
  change: '~',
} as const;
const colours = { '+': 'green', '-': 'red', '~': 'yellow', '=': undefined } as const;

function podLines(
  { action, namespace, name, because, containers, differences }: PodChange,
  isColoured: boolean,
): string[] {
  const what =
    containers.length === 0
      ? because
      : `${containers.length === 1 ? 'container' : 'containers'} ${containers.join(', ')}`;
  const line = `${action.padEnd(8)} ${namespace}/${name}${what === '' ? '' : ` (${what})`}`;
  return [
    marked(action, line, isColoured),
    ...differences.map((difference) => `      ${visible(differenceText(difference))}`),
  ];
}

function configObjectLines(
  { action, kind, namespace, name, keys, effects }: ConfigObjectChange,
  isColoured: boolean,
): string[] {
  return [
    marked(action, `${action.padEnd(8)} ${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`, isColoured),
    ...Object.entries(keys).map(([key, change]) => `      ${visible(key)}: ${change}`),
    ...effects.map(
      ({ pod, what, effect }) => `      ${pod}: ${what} ${effect === 'updated live' ? 'is updated live' : effect}`,
    ),
  ];
}

function marked(action: keyof typeof marks, text: string, isColoured: boolean): string {
  const line = visible(`${marks[action]} ${text}`);
  const colour = colours[marks[action]];
  return isColoured && colour ? styleText(colour, line, { validateStream: false }) : line;
}

const maxValueLength = 80;

function differenceText({ path, current, desired }: FieldDifference): string {
  if (current === undefined) return `${path}: added ${valueText(desired)}`;
  if (desired === undefined) return `${path}: removed ${valueText(current)}`;
  return `${path}: ${valueText(current)} → ${valueText(desired)}`;
}

function valueText(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length <= maxValueLength ? text : `${text.slice(0, maxValueLength)}…`;
}

function summary(pods: readonly PodChange[], configObjects: readonly ConfigObjectChange[]): string {
  const counts = [
    ...(['start', 'stop', 'restart', 'update', 'stay'] as const).map((action) => ({
      amount: pods.filter((pod) => pod.action === action).length,
      text: `to ${action}`,
    })),
    { amount: configObjects.length, text: 'ConfigMaps, Secrets, classes or storage objects to change' },
  ].filter(({ amount }) => amount > 0);
  return counts.length === 0 ? 'no pods' : counts.map(({ amount, text }) => `${amount} ${text}`).join(', ');
}
