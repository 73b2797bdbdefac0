import { splitDocuments } from '../../api/text/read-yaml.ts';
import { displayWidth } from '../../text/display-width.ts';

/** A line of a manifest, and the line with the mark below it. */
export interface QuotedLine {
  line: string;
  mark: string;
}

/** Maximum length of the shown part of a line, and of its part before the mark. */
const maxShown = 100;
const shownBefore = 40;

/**
 * Matches a document that may be a Secret: the word, a field that only a Secret has, the kind with a wrong case, and a
 * base64 value.
 */
const ofSecret = /\bSecret|\bstringData\b|\b[Kk]ind\W{1,20}(?:secret|SECRET)|!!binary\b/;

/**
 * The line of a problem with a mark. Returns undefined if it cannot be shown. Lines of a document with a Secret are
 * never shown. `line` and `column` count from 1.
 */
export function quotedLine(text: string, { line, column }: { line: number; column: number }): QuotedLine | undefined {
  const written = text.replace(/^\uFEFF/, '');
  const start = lineStart(written, line);
  const [whole = ''] = start === undefined ? [] : written.slice(start).split(lineBreak, 1);
  if (start === undefined || whole.trim() === '' || mayHoldSecret(written, start)) return undefined;
  return quoted(whole, { line, column });
}

function quoted(whole: string, { line, column }: { line: number; column: number }): QuotedLine {
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

const lineBreak = /\r\n|[\n\r\u0085]/;

/** Offset of a line that counts from 1. Returns undefined if there is no such line. */
function lineStart(text: string, line: number): number | undefined {
  if (line === 1) return 0;
  let count = 1;
  for (const { 0: found, index } of text.matchAll(new RegExp(lineBreak, 'g'))) {
    if (++count === line) return index + found.length;
  }
  return undefined;
}

/**
 * True if the document at an offset may be a Secret. A document without a kind may be part of any other document that a
 * `---` or `...` inside a value cuts.
 */
function mayHoldSecret(text: string, offset: number): boolean {
  // The text is UTF-16 that was read as UTF-8.
  if (text.includes('\0')) return true;
  const range = Array.from(splitDocuments(text)).find(({ start, end }) => start <= offset && offset < end);
  const own = text.slice(range?.start, range?.end);
  return ofSecret.test(withoutEscapes(/\bkind\b/i.test(own) ? own : text));
}

/** Decodes the escapes of printable characters in the text. */
function withoutEscapes(text: string): string {
  return text
    .replaceAll(/\\(?:\r\n|[\n\r\u0085])[ \t]*/g, '')
    .replaceAll(/\\(?:x|u00|U000000)([0-7][0-9a-f])/gi, (_escape, code: string) =>
      String.fromCodePoint(Number.parseInt(code, 16)),
    );
}

/** Replaces a tab by two columns, and characters that could control the terminal by dots. */
function visible(text: string): string {
  return text.replaceAll('\t', '  ').replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu, '·');
}
