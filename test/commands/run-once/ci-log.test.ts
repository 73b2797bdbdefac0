import { expect, test } from 'vitest';
import { ciLog } from '../../../src/commands/run-once/ci-log.ts';
import { gitHubGuard } from '../../../src/commands/run-once/github-guard.ts';

const context = { token: 'token-1', now: () => 1_700_000_000_500 };

test('GitHub folds the output and shows errors', () => {
  const log = ciLog({ env: { GITHUB_ACTIONS: 'true' }, ...context });
  expect(log?.begin('Output of the pods')).toBe('::group::Output of the pods\n');
  expect(log?.end()).toBe('::endgroup::\n');
  expect(log?.failure('default/a,b', '100 %: no\nline')).toBe('::error title=default/a%2Cb::100 %25: no%0Aline\n');
  expect(log?.guard).toBe(gitHubGuard);
});

test('GitLab folds the output', () => {
  const log = ciLog({ env: { GITLAB_CI: 'true' }, ...context });
  expect(log?.begin('Output of the pods')).toBe(
    '\u001b[0Ksection_start:1700000000:token-1\r\u001b[0KOutput of the pods\n',
  );
  expect(log?.end()).toBe('\u001b[0Ksection_end:1700000000:token-1\r\u001b[0K\n');
  expect(log?.failure('a', 'b')).toBe('');
  expect(log?.guard).toBeUndefined();
});

test('nothing is added elsewhere', () => {
  expect(ciLog({ env: { CI: 'true', GITHUB_ACTIONS: 'false' }, ...context })).toBeUndefined();
});
