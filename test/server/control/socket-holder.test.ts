import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { call } from '../../../src/server/control/control-call.ts';
import { findSocketHolder } from '../../../src/server/control/socket-holder.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Opens a socket, starts a child that keeps it, prints the child's PID and exits, as an agent that left a child. */
const script = `
use IO::Socket::UNIX;
$^F = 100;
my $server = IO::Socket::UNIX->new(Type => SOCK_STREAM, Local => $ARGV[0], Listen => 8) or die;
my $pid = fork;
if ($pid) { print $pid; exit }
open $_, '>', '/dev/null' for *STDOUT, *STDERR;
exec 'sleep', '1000';
`;

test.each(['kubelet-ts.sock', 'sock.4711'])('a child that keeps the socket %s of an agent is named', async (name) => {
  const folder = await temporaryFolder();
  const socketPath = join(folder, 'kubelet-ts.sock');
  expect(await findSocketHolder(socketPath)).toBeUndefined();
  const { stdout } = await promisify(execFile)('perl', ['-e', script, join(folder, name)]);
  const pid = Number(stdout);
  onTestFinished(() => void process.kill(pid, 'SIGKILL'));
  expect((await findSocketHolder(socketPath))?.pid).toBe(pid);
  if (name !== 'kubelet-ts.sock') return;
  const timings = { answerMs: 100, pingAfterMs: 10, bodyMs: 100, busyMs: 100 };
  await expect(call({ socketPath, method: 'GET', path: '/v1/snapshot', timings })).rejects.toMatchObject({
    message: `kubelet-ts (pid ${pid}, asleep) does not answer`,
    hint: `End it: kill -KILL ${pid}, pods keep running; kubelet-ts down ends its pods too.`,
  });
});
