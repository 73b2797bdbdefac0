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
  ['of a Secret in a List', 'kind: List\nitems:\n- kind: Pod\n- kind: "Secret"\n  data: {password: hunter2}', 3],
  ['of a Secret in flow style', '{kind: Secret,\ndata: {password: hunter2}}', 2],
  ['of a Secret on one line of JSON', '{"data":{"password":"hunter2"},"kind":"Secret"}', 1],
  ['of a Secret in a list of them', 'kind: SecretList\nitems:\n- data: {password: hunter2}', 3],
  ['of a Secret by an alias', 'x: &k Secret\nkind: *k\ndata: {password: hunter2}', 3],
  ['of a Secret by a merge', 'x: &s {kind: Secret}\n<<: *s\ndata: {password: hunter2}', 3],
  ['of a Secret in escapes', '{"kind":"\\u0053ecret","data":{\n"password":"hunter2"}}', 2],
  ['of a Secret in short escapes', 'kind: "\\x53ecret"\ndata: {password: hunter2}', 2],
  ['of a Secret whose kind goes on', 'kind: "Sec\\\r\n  ret"\r\ndata: {password: hunter2}', 3],
  ['of a Secret in base64', 'kind: !!binary U2VjcmV0\ndata: {password: hunter2}', 2],
  ['of a Secret in small letters', 'kind: "secret"\ndata: {password: hunter2}', 2],
  ['of a Secret with a wrong kind', 'kind: Secert\nstringData: {password: hunter2}', 2],
  [
    'of a Secret with a key in PEM',
    'kind: Secret\nstringData:\n  k: "-----BEGIN\n-----END KEY-----"\ndata:\n  password: hunter2',
    6,
  ],
  ['of a Secret that a marker cuts', 'kind: Secret\nstringData:\n  k: "a\n--- b"\ndata: {password: hunter2}', 5],
  ['of a Secret that a marker cuts above', 'data:\n  password: hunter2\n  k: "a\n--- b"\nkind: Secret', 2],
  ['of a Secret that an end cuts', 'kind: Secret\n...\ndata: {password: hunter2}', 3],
  ['of a text with two bytes for a letter', '\uFFFD\uFFFDk\0i\0n\0d\0:\0 \0S\0e\0c\0r\0e\0t\0\n\0p\0w\0', 2],
  ['that is not there', 'a: 1', 7],
  ['that is empty', 'a: 1\n\nb: 1', 2],
])('shows no line %s', (_what, text, line) => {
  expect(quotedLine(text, { line, column: 1 })).toBeUndefined();
});

test('shows the lines of a pod next to a Secret', () => {
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

test.each([
  ['beside an escape', 'kind: Pod\nmetadata: {name: "\\x61b"}', 2],
  ['with a volume from a secret', 'kind: Pod\nspec: {volumes: [{secret: {secretName: a}}]}', 2],
  ['behind an end', 'kind: Secret\n...\nkind: Pod\nspecs: {}', 4],
  ['of a comment', '# first', 1],
  ['without a kind', 'metadata: {}\nspecs: {}\n---\nkind: Pod', 2],
])('shows a line %s', (_what, text, line) => {
  const shown = `    ${line} | ${text.split('\n')[line - 1] ?? ''}`;
  expect(quotedLine(text, { line, column: 1 })?.line).toBe(shown);
});
