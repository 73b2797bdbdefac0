import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { identify } from '../../src/process/process-identity.ts';
import { LinuxContainerdHost } from '../../src/containerd/linux-containerd-host.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('signals a process, and none that has its number now', async () => {
  const host = new LinuxContainerdHost(managedPaths(await temporaryFolder()), systemClock, silentLogger);
  const child = spawn('sleep', ['1000']);
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const ended = once(child, 'exit');
  const process = await identify(child.pid ?? 0);
  if (process === undefined) throw new Error('sleep did not start');

  await host.signal({ ...process, startTicks: '1' }, 'SIGTERM');
  expect(await host.isRunning(process)).toBe(true);

  // Had the first one come, it would have ended by that.
  await host.signal(process, 'SIGKILL');
  expect(await ended).toEqual([null, 'SIGKILL']);
});

test('lines of an earlier containerd say nothing about one that could not be launched', async () => {
  const paths = managedPaths(await temporaryFolder());
  await mkdir(paths.base);
  await writeFile(paths.logFile, 'failed to copy content: unexpected EOF\n');
  await writeFile(paths.launchLock, 'in the way of the folder');
  const host = new LinuxContainerdHost(paths, systemClock, silentLogger);
  await expect(host.launch('/containerd', new AbortController().signal)).rejects.toThrow('EEXIST');
  expect(await host.lastLines()).toEqual([]);
});
