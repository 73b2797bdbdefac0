import { expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { exitCodeOf, parseExecStatus } from '../../../src/cri/streaming/exec-status.ts';

test('waits for a status that came in parts', () => {
  expect(parseExecStatus('{"status":"Suc')).toBeUndefined();
  expect(parseExecStatus('{"status":"Success"}')).toEqual({ status: 'Success' });
});

test.each([
  [{ status: 'Success' }, 0],
  [
    {
      status: 'Failure',
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'Other' }, { reason: 'ExitCode', message: '137' }] },
    },
    137,
  ],
])('reads the exit code of %j', (status, exitCode) => {
  expect(exitCodeOf(status, ['sh'])).toBe(exitCode);
});

test.each([
  ['exec: "nope": executable file not found in $PATH: unknown', 127],
  ['executable file `nope` not found in $PATH: No such file or directory', 127],
  ['exec: "/nope": stat /nope: no such file or directory: unknown', 127],
  ['exec: "/etc/passwd": permission denied: unknown', 126],
  ['exec: "/etc": is a directory', 126],
  ['exec /a.out: exec format error', 126],
  ['container is in CONTAINER_EXITED state', 1],
])('a command that did not start because of "%s" has the exit code %i', (message, exitCode) => {
  let thrown: unknown;
  try {
    exitCodeOf({ status: 'Failure', message }, ['nope', '-x']);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(UserError);
  expect(thrown).toMatchObject({ exitCode, message: `cannot run "nope" in the container: ${message}` });
});
