import { expect, test } from 'vitest';
import { logQueryProblems } from '../../../src/server/api/log-query.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

/** Why a query with this pattern is refused. */
async function problemsOf(pattern: string): Promise<string[]> {
  const root = await temporaryFolder();
  return logQueryProblems({ services: ['kubelet'], files: [], pattern }, { root, shownRoot: '/var/log' });
}

test.each([
  ...['[^/]+', '[a-z_-]+', '[(]', '[)]', String.raw`\-`, String.raw`\"`, '(?P<x>a)', String.raw`a\z`, '{', 'x(?i)y'],
  ...['(?i)a', '(?:a|b)*?', '()', 'a|', '^*', '[]a]', '[^]a]', '[[:alpha:](]', '[[]', String.raw`[\]]`, ']', '}'],
  ...[String.raw`\(`, String.raw`a\\`, String.raw`\Q(*[\E+`, String.raw`\Q(`, '[\u{1f600}-\u{1f602}]', '\n'],
])('the journal gets the pattern %j, which Go compiles', async (pattern) => {
  expect(await problemsOf(pattern)).toEqual([]);
});

test.each([
  ['a(b', 'missing closing ): `a(b`'],
  ['[)](', 'missing closing ): `[)](`'],
  ['a)', 'unexpected ): `a)`'],
  [')(', 'unexpected ): `)(`'],
  ['*', 'missing argument to repetition operator: `*`'],
  ['+?a', 'missing argument to repetition operator: `+?`'],
  ['(*UTF8)a', 'missing argument to repetition operator: `*`'],
  ['a|?', 'missing argument to repetition operator: `?`'],
  ['a\\', 'trailing backslash at end of expression: ``'],
  ['a[b', 'missing closing ]: `[b`'],
  ['[]', 'missing closing ]: `[]`'],
  ['[^]', 'missing closing ]: `[^]`'],
  ['(a[b\\]', 'missing closing ]: `[b\\]`'],
])('the pattern %j is refused in the words of Go', async (pattern, reason) => {
  const shown = pattern.replaceAll('\\', '\\\\');
  expect(await problemsOf(pattern)).toEqual([`pattern: Invalid value: "${shown}": error parsing regexp: ${reason}`]);
});
