import type { Finding, Level } from '../../node/doctor/checks/finding.ts';
import { visible } from '../../text/visible-text.ts';
import type { Painter } from '../io/paint.ts';

interface Form {
  painted: Painter;
  /** False for a terminal without UTF-8. */
  hasUnicode: boolean;
}

const marks = {
  ok: { unicode: '✓', ascii: 'ok', colour: 'green' },
  warning: { unicode: '!', ascii: '!', colour: 'yellow' },
  problem: { unicode: '✗', ascii: 'X', colour: 'red' },
  unseen: { unicode: '?', ascii: '?', colour: 'gray' },
} as const;

/** A line per finding, its fixes below it, and a summary. */
export function findingsText(findings: readonly Finding[], form: Form): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  return [...findings.flatMap((finding) => findingLines(finding, width, form)), summaryLine(findings), ''].join('\n');
}

function findingLines({ check, level, evidence, fix }: Finding, width: number, form: Form): string[] {
  const { unicode, ascii, colour } = marks[level];
  const mark = form.hasUnicode ? unicode : ascii.padEnd(2);
  const line = `${form.painted(colour, mark)} ${check.padEnd(width)}  ${oneLine(evidence)}`;
  const arrow = form.hasUnicode ? '→' : '->';
  const indent = ' '.repeat(mark.length + width + 3);
  const fixes = fix?.split('\n') ?? [];
  return [line, ...fixes.map((one) => `${indent}${form.painted('cyan', arrow)} ${visible(one)}`)];
}

const oneLine = (text: string): string => visible(text.replaceAll('\n', '; '));

function summaryLine(findings: readonly Finding[]): string {
  const { problem, warning, ok, unseen } = countLevels(findings);
  const parts = [plural(problem, 'problem'), plural(warning, 'warning'), `${ok} ok`];
  return [...parts, ...(unseen > 0 ? [`${unseen} not checked`] : [])].join(', ');
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;

export function countLevels(findings: readonly Finding[]): Record<Level, number> {
  const counts = { ok: 0, warning: 0, problem: 0, unseen: 0 };
  for (const { level } of findings) counts[level] += 1;
  return counts;
}

/** True if the locale of these variables is UTF-8: locale(7). */
export function isUnicode(env: Readonly<Record<string, string | undefined>>): boolean {
  const locale = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']].find((value) => value !== undefined && value !== '');
  return /utf-?8/i.test(locale ?? '');
}
