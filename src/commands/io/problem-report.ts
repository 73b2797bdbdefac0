import { isAbsolute, relative } from 'node:path';
import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import { visible } from '../../text/visible-text.ts';
import { paint } from './paint.ts';
import { quotedLine } from './quoted-line.ts';

export interface ReportOptions {
  /** The text behind an origin. Returns undefined if its lines are not shown. */
  textOf: (origin: string) => string | undefined;
  /** Folder that shown paths are relative to. */
  folder: string;
  isColoured: boolean;
}

const severityStyles = { error: 'red', warning: 'yellow', note: 'cyan' } as const;

/**
 * A problem in the format of compilers, on several lines: `file:line:column: error: field: message`, its line with a
 * mark, and the hint.
 */
export function problemReport(problem: ManifestProblem, { textOf, folder, isColoured }: ReportOptions): string {
  const { origin, line, column, severity, field, message, hint } = problem;
  const styled = paint(isColoured);
  const severityStyle = severityStyles[severity];
  const where = visible([shortPath(origin, folder), line, column].filter((part) => part !== undefined).join(':'));
  const what = visible([field, message].filter((part) => part !== undefined).join(': '));
  const text = line === undefined ? undefined : textOf(origin);
  const quoted = text === undefined ? undefined : quotedLine(text, { line: line ?? 1, column: column ?? 1 });
  return [
    `${styled('bold', `${where}:`)} ${styled(['bold', severityStyle], `${severity}:`)} ${what}`,
    ...(quoted === undefined ? [] : [quoted.line, styled(severityStyle, quoted.mark)]),
    ...(hint === undefined ? [] : [`  ${styled('cyan', 'hint:')} ${visible(hint)}`]),
    '',
  ].join('\n');
}

function shortPath(origin: string, folder: string): string {
  if (!isAbsolute(origin)) return origin;
  const short = relative(folder, origin);
  return short === '' || short.startsWith('..') ? origin : short;
}
