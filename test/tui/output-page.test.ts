import { expect, test } from 'vitest';
import { firstRow, grownPage, nextMatch, openPage, pageRows } from '../../src/tui/output-page.ts';

test('output is split into lines wherever it is cut', () => {
  const page = ['o', 'ne\ntw', 'o\n', 'three'].reduce(grownPage, openPage(1, ['logs', 'web']));
  expect(pageRows(page, 80)).toEqual(['one', 'two', 'three']);
});

test('five thousand lines are kept, and the rows that are shown stay', () => {
  const first = grownPage({ ...openPage(1, ['logs', 'web']), top: 40 }, 'x\n'.repeat(5000));
  const page = grownPage(first, 'y\n'.repeat(10));
  expect([page.lines.length, page.lines.at(-1), page.top]).toEqual([5000, 'y', 30]);
});

test('a command that follows shows the end, and any other one the beginning', () => {
  const lines = 'x\n'.repeat(20);
  const first = (words: string[]): number => firstRow(grownPage(openPage(1, words), lines), 20, 5);
  expect([first(['logs', '-f', 'web']), first(['describe', 'web'])]).toEqual([15, 0]);
});

test('long lines wrap by their width on the screen', () => {
  const page = { ...grownPage(openPage(1, ['logs', 'web']), 'abcde\n本本本\n'), isWrapped: true };
  expect(pageRows(page, 4)).toEqual(['abcd', 'e', '本本', '本']);
});

test('a text is found in both directions, and alone if wanted', () => {
  const page = { ...grownPage(openPage(1, ['logs', 'web']), 'Error 1\nfine\nerror 2\n'), search: 'ERROR' };
  expect([nextMatch(page, 80, 0, 1), nextMatch(page, 80, 2, -1), nextMatch(page, 80, 2, 1)]).toEqual([2, 0, undefined]);
  expect(pageRows({ ...page, onlyMatching: true }, 80)).toEqual(['Error 1', 'error 2']);
});
