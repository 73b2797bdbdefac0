import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { stopSupervisor } from '../../../src/commands/run/stop-agent.ts';
import { identify, type ProcessIdentity } from '../../../src/process/process-identity.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A process whose parent has the command line of OpenRC's supervisor, under the given name. */
async function supervised(supervisor: string): Promise<ProcessIdentity> {
  const folder = await temporaryFolder();
  const script =
    "process.stdout.write(String(require('child_process').spawn('sleep', ['600']).pid)); setInterval(() => {}, 1e6)";
  await writeFile(join(folder, 'pods'), script);
  const parent = spawn(process.execPath, ['pods', '--start'], {
    argv0: supervisor,
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [pid] = (await once(parent.stdout, 'data')) as [Buffer];
  onTestFinished(() => {
    parent.kill();
    process.kill(Number(pid));
  });
  const child = await identify(Number(pid));
  if (child === undefined) throw new Error('sleep has ended');
  return child;
}

/** An rc-service that notes its words, and ends with the exit code. Returns the file of the words. */
async function openRC(code: number): Promise<string> {
  const bin = await temporaryFolder();
  const words = join(bin, 'words');
  const script = `#!/bin/sh\necho "$*" >> ${words}\necho ' * not now' >&2\nexit ${code}\n`;
  await writeFile(join(bin, 'rc-service'), script, { mode: 0o755 });
  vi.stubEnv('PATH', `${bin}:${process.env['PATH'] ?? ''}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  return words;
}

test('the service of an agent that OpenRC supervises is stopped', async () => {
  const words = await openRC(0);
  const stderr = new PassThrough();
  expect(await stopSupervisor(await supervised('/sbin/supervise-daemon'), stderr)).toBe(true);
  expect({ words: await readFile(words, 'utf8'), stderr: stderr.read() as unknown }).toEqual({
    words: '--nocolor pods stop\n',
    stderr: null,
  });
});

test('a service that cannot be stopped is a warning', async () => {
  await openRC(1);
  const stderr = new PassThrough({ encoding: 'utf8' });
  expect(await stopSupervisor(await supervised('supervise-daemon'), stderr)).toBe(false);
  expect(stderr.read()).toBe('warning: rc-service pods stop failed, so OpenRC may start kubelet-ts again: * not now\n');
});

test('an agent with another parent has no service', async () => {
  const words = await openRC(0);
  expect(await stopSupervisor(await supervised('supervisor'), new PassThrough())).toBe(false);
  await expect(readFile(words)).rejects.toThrow('ENOENT');
});
