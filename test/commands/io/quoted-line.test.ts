import { expect, test } from 'vitest';
import { quotedLine } from '../../../src/commands/io/quoted-line.ts';

test('shows a line with a mark below the word that is meant', () => {
  expect(quotedLine('a: 1\nspec: {imagee: busybox}\n', { line: 2, column: 8 })).toEqual({
    line: '    2 | spec: {imagee: busybox}',
    mark: '      |        ^~~~~~',
  });
});

test.each([
  ['a quoted word', 'key: "two words" # more', 6, '^~~~~~~~~~~'],
  ['a place without a word', 'key: [', 6, '^'],
  ['a place behind the end', 'key:', 9, '^'],
])('marks %s', (_what, text, column, mark) => {
  const indent = ' '.repeat(Math.min(column - 1, text.length));
  expect(quotedLine(text, { line: 1, column })?.mark).toBe(`      | ${indent}${mark}`);
});

test('keeps the mark below its word where characters are wide, and tabs and control characters are there', () => {
  expect(quotedLine('名:\t\u001b[1mx', { line: 1, column: 9 })).toEqual({
    line: '    1 | 名:  ·[1mx',
    mark: '      |           ^',
  });
});

test('shows the part of a long line that is meant', () => {
  const quoted = quotedLine(`{"a":"${'x'.repeat(500)}","bad":1,"b":"${'y'.repeat(500)}"}`, { line: 1, column: 509 });
  expect(quoted).toEqual({
    line: `    1 | …${'x'.repeat(38)}","bad":1,"b":"${'y'.repeat(47)}…`,
    mark: `      | ${' '.repeat(41)}^~~~~`,
  });
});

test('counts lines as the reader of manifests does', () => {
  expect(quotedLine('\uFEFFa: 1\r\nb: 2\rc: 3\u0085d: 4', { line: 4, column: 1 })?.line).toBe('    4 | d: 4');
});

test.each([
  ['of a Secret', 'kind: Secret\ndata: {password: hunter2}', 2],
  ['of a Secret in JSON', '{"kind":"List","items":[\n{"kind":"Secret"},\n{"kind":"Pod"}]}', 3],
  ['that is not there', 'a: 1', 7],
  ['that is empty', 'a: 1\n\nb: 1', 2],
])('shows no line %s', (_what, text, line) => {
  expect(quotedLine(text, { line, column: 1 })).toBeUndefined();
});

test('shows the lines of a pod beside a Secret', () => {
  const text = 'kind: Secret\ndata: {password: hunter2}\n---\nkind: Pod\nspecs: {}\n--- # next\nkind: Secret\n';
  const shown = Array.from({ length: 7 }, (_, index) => quotedLine(text, { line: index + 1, column: 1 })?.line);
  expect(shown).toEqual([
    undefined,
    undefined,
    '    3 | ---',
    '    4 | kind: Pod',
    '    5 | specs: {}',
    undefined,
    undefined,
  ]);
});
