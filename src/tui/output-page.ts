import { displayWidth } from '../text/display-width.ts';
import { printable } from '../text/visible-text.ts';
import { commandText } from './command-line.ts';
import type { Line } from './line.ts';

/** Output of a command line on the screen. */
export interface OutputPage {
  /** Number of its command, in start order. */
  id: number;
  args: readonly string[];
  /** The newest lines. */
  lines: readonly string[];
  /** Output after the last line break. */
  rest: string;
  /** Undefined while it runs. */
  exitCode: number | undefined;
  isWrapped: boolean;
  /** Text to search for. Empty for none. */
  search: string;
  /** True to show only lines with that text. */
  onlyMatching: boolean;
  /** First visible row. `end` follows new lines. */
  top: number | 'end';
}

/** Maximum lines of a page, and characters of a line. */
const maxLines = 5000;
const maxLineLength = 4096;

/** A page before the first output. The page of a command that follows shows the end. */
export function openPage(id: number, args: readonly string[]): OutputPage {
  const top = args.includes('-f') || args.includes('-w') || args[0] === 'port-forward' ? 'end' : 0;
  return {
    id,
    args: args,
    lines: [],
    rest: '',
    exitCode: undefined,
    isWrapped: false,
    search: '',
    onlyMatching: false,
    top,
  };
}

/** The page with more output. */
export function grownPage(page: OutputPage, text: string): OutputPage {
  const [...lines] = (page.rest + text).split('\n');
  const rest = (lines.pop() ?? '').slice(0, maxLineLength);
  const all = [...page.lines, ...lines.map((line) => line.slice(0, maxLineLength))];
  const dropped = Math.max(0, all.length - maxLines);
  // Dropped lines must not move the visible ones.
  const top = page.top === 'end' ? 'end' : Math.max(0, page.top - dropped);
  return { ...page, lines: all.slice(dropped), rest, top };
}

/** Rows of the page: lines that match, wrapped or not. */
export function pageRows(page: OutputPage, columns: number): string[] {
  const lines = page.rest === '' ? page.lines : [...page.lines, page.rest];
  const shown = page.onlyMatching && page.search !== '' ? lines.filter((line) => isMatch(line, page.search)) : lines;
  return page.isWrapped ? shown.flatMap((line) => wrapped(printable(line), columns)) : [...shown];
}

/** Title and rows for the screen. */
export function pageLines(page: OutputPage, columns: number, height: number): Line[] {
  const rows = pageRows(page, columns);
  const first = firstRow(page, rows.length, height - 1);
  const shown = rows.slice(first, first + height - 1);
  return [titleOf(page, first + shown.length, rows.length), ...shown.map((row) => rowLine(row, page.search))];
}

function titleOf({ args: args, exitCode, search, onlyMatching }: OutputPage, last: number, count: number): Line {
  const state = exitCode === undefined ? 'runs' : exitCode === 0 ? 'done' : `exit ${exitCode}`;
  const found = search === '' ? '' : `  ${onlyMatching ? 'only' : 'find'} /${search}`;
  return {
    spans: [
      { text: `$ ${commandText(args)}`, bold: true },
      {
        text: `  ${state}, ${last}/${count}${found}`,
        color: exitCode === undefined || exitCode === 0 ? 'gray' : 'red',
      },
    ],
  };
}

function rowLine(row: string, search: string): Line {
  return { spans: [{ text: row, ...(search !== '' && isMatch(row, search) && { color: 'yellow', bold: true }) }] };
}

/** First visible row. */
export function firstRow({ top }: OutputPage, count: number, height: number): number {
  const last = Math.max(0, count - height);
  return top === 'end' ? last : Math.min(top, last);
}

/** The row of the next match, or of the one before. Returns undefined if there is none. */
export function nextMatch(page: OutputPage, columns: number, from: number, by: 1 | -1): number | undefined {
  const rows = pageRows(page, columns);
  for (let row = from + by; row >= 0 && row < rows.length; row += by) {
    if (isMatch(rows[row] ?? '', page.search)) return row;
  }
  return undefined;
}

const isMatch = (line: string, search: string): boolean =>
  search !== '' && line.toLowerCase().includes(search.toLowerCase());

/** Returns the line as rows of at most this many columns. */
export function wrapped(line: string, columns: number): string[] {
  const rows: string[] = [];
  let row = '';
  let width = 0;
  for (const character of line) {
    const more = displayWidth(character);
    if (width + more > columns) {
      rows.push(row);
      row = '';
      width = 0;
    }
    row += character;
    width += more;
  }
  return [...rows, row];
}
