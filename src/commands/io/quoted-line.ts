import { displayWidth } from '../../display-width.ts';

/** A line of a manifest, and the line with the mark below it. */
export interface QuotedLine {
  line: string;
  mark: string;
}

/** Length of the shown part of a long line, and of its part before the mark. */
const maxShown = 100;
const shownBefore = 40;

/**
 * The line of a problem with a mark. Returns undefined if it cannot be shown. Lines of a document with a Secret are
 * never shown. `line` and `column` count from 1.
 */
export function quotedLine(text: string, { line, column }: { line: number; column: number }): QuotedLine | undefined {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|[\n\r\u0085]/);
  const whole = lines[line - 1];
  if (whole === undefined || whole.trim() === '' || mayHoldSecret(lines, line - 1)) return undefined;
  const start = Math.min(column - 1, whole.length);
  const from = whole.length <= maxShown ? 0 : Math.max(0, start - shownBefore);
  const shown = whole.slice(from, from + maxShown);
  const cutBefore = from > 0 ? '…' : '';
  const cutAfter = from + maxShown < whole.length ? '…' : '';
  const indent = displayWidth(cutBefore + visible(whole.slice(from, start)));
  const word = /^(?:"[^"]*"?|'[^']*'?|[^\s:,{}[\]#]+)/.exec(shown.slice(start - from))?.[0] ?? '';
  const underline = '~'.repeat(Math.max(0, displayWidth(visible(word)) - 1));
  const gutter = String(line).padStart(5);
  return {
    line: `${gutter} | ${cutBefore}${visible(shown)}${cutAfter}`,
    mark: `${' '.repeat(gutter.length)} | ${' '.repeat(indent)}^${underline}`,
  };
}

/** True if the document around a line, between two `---`, may contain the word Secret. */
function mayHoldSecret(lines: readonly string[], index: number): boolean {
  const isSeparator = (line: string): boolean => line.startsWith('---');
  const first = lines.slice(0, index + 1).findLastIndex(isSeparator);
  const next = lines.slice(index + 1).findIndex(isSeparator);
  const document = lines.slice(Math.max(0, first), next === -1 ? undefined : index + 1 + next);
  return document.some((line) => /\bSecret/.test(line));
}

/** Replaces a tab by two columns, and characters that could control the terminal by dots. */
function visible(text: string): string {
  return text.replaceAll('\t', '  ').replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu, '·');
}
