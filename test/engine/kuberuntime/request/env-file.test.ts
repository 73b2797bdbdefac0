import { expect, test } from 'vitest';
import { envFileValue } from '../../../../src/engine/kuberuntime/request/env-file.ts';

test.each([
  [
    "# comment\nA='1'\nPASSWORD=hunter2\n",
    'line 3: the value must be in single quotes, with nothing but a comment after it',
  ],
  ["A='1\n2'\n\nhunter2\n", "line 4: it must read NAME='value'"],
])('the error for a bad line names its number and shows nothing of it', (text, problem) => {
  expect(() => envFileValue(text, 'B')).toThrow(
    expect.objectContaining({ message: `invalid environment file: ${problem}` }),
  );
});

test.each([
  ['a value without quotes, even an empty one, is refused', "B=\nA='1'\n", undefined],
  ['an empty key ends the search', "A= x\nA='1'\n", ''],
  ['lines may end in CRLF, also inside a value', "B='x'\r\nA='1\r\n2'\r\n", '1\n2'],
  ['only spaces and tabs are blanks', "\vA='1'\n", ''],
  ['a carriage return in the middle of a line belongs to the line', "\r\rA='1'\n", ''],
])('%s', (_, text, value) => {
  if (value === undefined) expect(() => envFileValue(text, 'A')).toThrow('must be in single quotes');
  else expect(envFileValue(text, 'A') ?? '').toBe(value);
});

test('a line of blanks and text without "=" takes linear time', () => {
  const blanks = ' '.repeat(500_000);
  const text = `${blanks}${'x'.repeat(500_000)}`;
  expect(() => envFileValue(text, 'A')).toThrow("line 1: it must read NAME='value'");
});
