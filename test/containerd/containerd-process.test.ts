import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  containerdArguments,
  findContainerdProcess,
  isContainerdCommand,
  writePidFile,
} from '../../src/containerd/containerd-process.ts';
import { identify } from '../../src/process-identity.ts';
import { temporaryFolder } from '../temporary-folder.ts';

test('knows our containerd by its program and configuration file', () => {
  const args = ['/usr/bin/containerd', ...containerdArguments('/r/config.toml'), ''];
  expect(isContainerdCommand(args, '/r/config.toml')).toBe(true);
  expect(isContainerdCommand(args, '/other/config.toml')).toBe(false);
  expect(isContainerdCommand(['vi', ...args.slice(1)], '/r/config.toml')).toBe(false);
  expect(isContainerdCommand([''], '/r/config.toml')).toBe(false);
});

test('finds nothing where the pid file names a process that is not ours', async () => {
  const folder = await temporaryFolder();
  const pidFile = join(folder, 'containerd.pid');
  const self = await identify(process.pid);
  if (self !== undefined) await writePidFile(pidFile, self);
  expect(await findContainerdProcess(join(folder, 'config.toml'), pidFile)).toBeUndefined();
});

test('does not wait for a named pipe in place of the pid file', async () => {
  const folder = await temporaryFolder();
  const pidFile = join(folder, 'containerd.pid');
  execFileSync('mkfifo', [pidFile]);
  expect(await findContainerdProcess(join(folder, 'config.toml'), pidFile)).toBeUndefined();
});
