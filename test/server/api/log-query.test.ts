import { expect, test } from 'vitest';
import { logQueryProblems } from '../../../src/server/api/log-query.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Why a query with this pattern is refused. */
async function problemsOf(pattern: string): Promise<string[]> {
  const root = await temporaryFolder();
  return logQueryProblems({ services: ['kubelet'], files: [], pattern }, { root, shownRoot: '/var/log' });
}

test.each([
  ...['[^/]+', '[a-z_-]+', '[(]', '[)]', String.raw`\-`, String.raw`\"`, '(?P<x>a)', String.raw`a\z`, '{', 'x(?i)y'],
  ...['(?i)a', '(?:a|b)*?', '()', 'a|', '^*', '[]a]', '[^]a]', '[[:alpha:](]', '[[]', String.raw`[\]]`, ']', '}'],
  ...[
    'a{2}',
    'a{1,2}?',
    'a{2,}',
    'a{0}',
    'a{1000}',
    'a{02,1}',
    'a{,5}',
    'a*b*',
    'a*?',
    'a{2',
    'a{}',
    '(?P<x_1>a)(?<y>b)',
  ],
  ...[String.raw`\A\b\B\d\D\s\S\w\W\z`, String.raw`\a\f\n\r\t\v\x41\x{1f600}\0\12\p{L}\PL\_`, String.raw`a\**`],
  ...[String.raw`\x{2028}`, String.raw`\x{41}+`, String.raw`\p{Greek}*`, String.raw`[\x{41}-\x{5a}]`],
  ...[String.raw`\(`, String.raw`a\\`, String.raw`\Q(*[\E+`, String.raw`\Q(`, '[\u{1f600}-\u{1f602}]', '\n'],
])('the journal gets the pattern %j, which Go compiles', async (pattern) => {
  expect(await problemsOf(pattern)).toEqual([]);
});

test.each([...['a(b', '[)](', 'a)', ')(', '*', '+?a', '(*UTF8)a', 'a|?', '**', 'a\\', 'a[b', '[]', '[^]', '(a[b\\]']])(
  'the pattern %j is refused',
  async (pattern) => {
    const shown = pattern.replaceAll('\\', '\\\\');
    expect(await problemsOf(pattern)).toEqual([`pattern: Invalid value: "${shown}": error parsing regexp`]);
  },
);
