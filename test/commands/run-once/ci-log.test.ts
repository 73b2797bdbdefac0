import { expect, test } from 'vitest';
import { ciLog } from '../../../src/commands/run-once/ci-log.ts';

const context = { token: 'token-1', now: () => 1_700_000_000_500 };

test('GitHub folds the output and shows errors', () => {
  const log = ciLog({ env: { GITHUB_ACTIONS: 'true' }, ...context });
  expect(log?.begin('Output of the pods')).toBe('::group::Output of the pods\n');
  expect(log?.end()).toBe('::endgroup::\n');
  expect(log?.failure('default/a,b', '100 %: no\nline')).toBe('::error title=default/a%2Cb::100 %25: no%0Aline\n');
});

test.each([
  ['::error::x', String.raw`\::error::x`],
  [' \t\u00a0\ufeff::add-mask::e', ' \t\u00a0\ufeff\\::add-mask::e'],
  ['50%\r::endgroup::', '50%\r\\::endgroup::'],
  ['x ##[error]y', String.raw`x ##\[error]y`],
  ['fd00::1 is up', 'fd00::1 is up'],
  ['std::vector', 'std::vector'],
])('the line %j of a container is %j on GitHub, which has no effect', (line, shown) => {
  const log = ciLog({ env: { GITHUB_ACTIONS: 'true' }, ...context });
  expect(log?.guard?.(Buffer.from(line)).toString()).toBe(shown);
});

test('other bytes stay as they are on GitHub', () => {
  const line = Buffer.from([0xff, 0x3a, 0x3a, 0xfe]);
  expect(ciLog({ env: { GITHUB_ACTIONS: 'true' }, ...context })?.guard?.(line)).toEqual(line);
});

test('GitLab folds the output', () => {
  const log = ciLog({ env: { GITLAB_CI: 'true' }, ...context });
  expect(log?.begin('Output of the pods')).toBe(
    '\u001b[0Ksection_start:1700000000:token-1\r\u001b[0KOutput of the pods\n',
  );
  expect(log?.end()).toBe('\u001b[0Ksection_end:1700000000:token-1\r\u001b[0K\n');
  expect(log?.failure('a', 'b')).toBe('');
});

test('nothing is added elsewhere', () => {
  expect(ciLog({ env: { CI: 'true', GITHUB_ACTIONS: 'false' }, ...context })).toBeUndefined();
});
