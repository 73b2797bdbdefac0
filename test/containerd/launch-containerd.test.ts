import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { launchContainerd } from '../../src/containerd/launch-containerd.ts';
import { managedPaths, type ManagedPaths } from '../../src/containerd/managed-paths.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A program in the place of containerd, and a root-dir with what a dead one left. */
async function fakeContainerd(script: string): Promise<{ containerd: string; paths: ManagedPaths }> {
  const rootDir = await temporaryFolder();
  const paths = managedPaths(rootDir);
  await mkdir(paths.base);
  for (const file of [paths.pidFile, paths.socket, `${paths.socket}.ttrpc`]) await writeFile(file, 'stale');
  await writeFile(paths.logFile, 'said before\n');
  const containerd = join(rootDir, 'containerd-program');
  await writeFile(containerd, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { containerd, paths };
}

const options = { clock: systemClock, signal: new AbortController().signal };

test('a containerd that ends at its start is an error with what it said, and leaves nothing to trip over', async () => {
  const { containerd, paths } = await fakeContainerd('echo "bad configuration: $1 $2"; exit 3');
  await expect(launchContainerd(containerd, paths, options)).rejects.toMatchObject({
    name: 'UserError',
    message:
      'The managed containerd did not start: it ended with exit code 3\n' +
      `  bad configuration: --config ${paths.configFile}`,
    hint: `Its log is ${paths.logFile}, its configuration ${paths.configFile}.`,
  });
  expect(await readdir(paths.base)).toEqual(['containerd.log']);
});

test('a containerd that cannot be executed is an error', async () => {
  const { paths } = await fakeContainerd('');
  await expect(launchContainerd('/nonexistent/containerd', paths, options)).rejects.toThrow(
    'The managed containerd did not start',
  );
});

test('an aborted start leaves no process', async () => {
  const { containerd, paths } = await fakeContainerd('exec sleep 1000');
  const controller = new AbortController();
  const reason = new Error('interrupted');
  const launch = launchContainerd(containerd, paths, { ...options, signal: controller.signal });
  controller.abort(reason);
  await expect(launch).rejects.toBe(reason);
  expect(await readdir(paths.base)).toEqual(['containerd.log']);
});

test('a start that is aborted before there is a process makes none', async () => {
  const { containerd, paths } = await fakeContainerd('echo started; exec sleep 1000');
  const reason = new Error('interrupted');
  await expect(launchContainerd(containerd, paths, { ...options, signal: AbortSignal.abort(reason) })).rejects.toBe(
    reason,
  );
  expect(await readFile(paths.logFile, 'utf8')).toBe('said before\n');
});
