import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  containerdArguments,
  findContainerdProcess,
  isContainerdCommand,
  writePidFile,
} from '../../src/containerd/containerd-process.ts';
import { identify, type ProcessIdentity } from '../../src/process/process-identity.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('knows our containerd by its program and its whole arguments', () => {
  const args = ['/usr/bin/containerd', ...containerdArguments('/r/config.toml')];
  expect(isContainerdCommand(args, '/r/config.toml')).toBe(true);
  expect(isContainerdCommand(args, '/other/config.toml')).toBe(false);
  expect(isContainerdCommand(['vi', ...args.slice(1)], '/r/config.toml')).toBe(false);
  expect(isContainerdCommand([...args, 'config', 'dump'], '/r/config.toml')).toBe(false);
  expect(isContainerdCommand([...args, ''], '/r/config.toml')).toBe(false);
  expect(isContainerdCommand([], '/r/config.toml')).toBe(false);
});

/** A process of perl that shows the command line of our containerd. This needs one as long, which the filler makes. */
async function startForger(configFile: string, before: string): Promise<ProcessIdentity> {
  const shown = ['/usr/bin/containerd', ...containerdArguments(configFile)];
  const perl = ['perl', '-'];
  const filler = 'f'.repeat(shown.join('\0').length - perl.join('\0').length - 1);
  const forger = spawn('perl', ['-', filler], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(forger, 'exit');
  onTestFinished(async () => {
    forger.kill('SIGKILL');
    await ended;
  });
  forger.stdin.end(`$| = 1; ${before}; $0 = "${shown.join('\\0')}"; print "forged\n"; sleep 600`);
  await once(forger.stdout, 'data');
  const identity = await identify(forger.pid ?? 0);
  if (identity === undefined) throw new Error('perl does not run');
  return identity;
}

test.runIf(process.geteuid?.() === 0).each([
  ['of root is', '', true],
  ['of another user is not', '($<, $>) = (65534, 65534)', false],
  ['of root in a container is not', 'chroot "/proc/self" or die', false],
])('a process %s our containerd if it has its command line', async (_, before, isOurs) => {
  const folder = await temporaryFolder();
  const [configFile, pidFile] = [join(folder, 'config.toml'), join(folder, 'containerd.pid')];
  const forger = await startForger(configFile, before);
  expect(await findContainerdProcess(configFile, pidFile, silentLogger)).toEqual(isOurs ? forger : undefined);
  await writePidFile(pidFile, forger);
  expect(await findContainerdProcess(configFile, pidFile, silentLogger)).toEqual(isOurs ? forger : undefined);
});

test('finds nothing where the pid file names a process that is not ours', async () => {
  const folder = await temporaryFolder();
  const pidFile = join(folder, 'containerd.pid');
  const self = await identify(process.pid);
  if (self !== undefined) await writePidFile(pidFile, self);
  expect(await findContainerdProcess(join(folder, 'config.toml'), pidFile, silentLogger)).toBeUndefined();
});

test('does not wait for a named pipe in place of the pid file', async () => {
  const folder = await temporaryFolder();
  const pidFile = join(folder, 'containerd.pid');
  execFileSync('mkfifo', [pidFile]);
  expect(await findContainerdProcess(join(folder, 'config.toml'), pidFile, silentLogger)).toBeUndefined();
});
