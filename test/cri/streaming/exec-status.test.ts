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
  expect(thrown).toMatchObject({ exitCode });
});

test.each([
  [
    'failed to exec in container: failed to start exec "7b2a": OCI runtime exec failed: exec failed: unable to start ' +
      'container process: exec: "nope": executable file not found in $PATH: unknown',
    'executable file not found in $PATH',
    127,
  ],
  ['container is in CONTAINER_EXITED state', 'container is in CONTAINER_EXITED state', 1],
])('the reason of a command that did not start is the end of "%s"', (message, reason, exitCode) => {
  expect(() => exitCodeOf({ status: 'Failure', message }, ['nope', '-x'])).toThrow(
    new UserError(`cannot run "nope" in the container: ${reason}`, { exitCode }),
  );
});
