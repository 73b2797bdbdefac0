import { expect, onTestFinished, test, vi } from 'vitest';
import { UserError } from '../../src/errors.ts';
import { uncaughtErrorText } from '../../src/commands/command-line.ts';

test('the trace of a bug is printed with KUBELET_TS_DEBUG=1, and not without it', () => {
  const bug = new TypeError('x is not a function');
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(uncaughtErrorText(bug)).not.toMatch(/^ +at /m);
  vi.stubEnv('KUBELET_TS_DEBUG', '1');
  expect(uncaughtErrorText(bug)).toMatch(/^ +at .*command-line\.test\.ts/m);
});

test('an error has no workflow command for GitHub, because a registry or manifest may have written a part of it', () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('GITHUB_ACTIONS', 'true');
  const error = new UserError('these images could not be pulled:\n  ::stop-commands::x\n  ##[error]y');
  expect(uncaughtErrorText(error)).toBe(
    'error: these images could not be pulled:\n  \\::stop-commands::x\n  ##\\[error]y\n',
  );
  vi.stubEnv('GITHUB_ACTIONS', '');
  expect(uncaughtErrorText(error)).toContain('\n  ::stop-commands::x\n');
});
