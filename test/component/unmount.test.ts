import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { mountPointsUnder, mountTmpfs, unmountTree } from '../../src/engine/host/mounts.ts';
import { pathExists } from '../../src/files/path-exists.ts';
import { removeTree } from '../../src/engine/host/remove-tree.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Long enough for a shell to start on a busy machine. */
const timeoutMs = 2000;

let folder: string;
let calls: string;

/** Puts a stand-in for `umount` first in the PATH. It notes how it was called, then does as the script says. */
async function standIn(script: string): Promise<void> {
  const { stdout: umount } = await execa('sh', ['-c', 'command -v umount']);
  const bin = join(folder, 'bin');
  await mkdir(bin);
  const text = `#!/bin/sh\necho "$*" >> '${calls}'\numount() { exec '${umount}' "$@"; }\n${script}\n`;
  await writeFile(join(bin, 'umount'), text, { mode: 0o755 });
  vi.stubEnv('PATH', `${bin}:${process.env['PATH'] ?? ''}`);
}

/** As a server that does not answer: all but a lazy unmount waits without end. */
const deadServer = 'case "$*" in *--lazy*) umount "$@" ;; esac\nexec sleep 1000';

beforeEach(async () => {
  folder = await temporaryFolder();
  calls = join(folder, 'calls');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const mountPoint of await mountPointsUnder(folder)) await execa('umount', ['--lazy', mountPoint]);
});

test('a mount that does not let go in time is detached by force, and its folder is removed', async () => {
  const volume = join(folder, 'volume');
  await mkdir(volume);
  await mountTmpfs(volume, undefined);
  await standIn(deadServer);
  await unmountTree(volume, timeoutMs);
  await removeTree(volume);
  expect({ called: await readFile(calls, 'utf8'), exists: await pathExists(volume) }).toEqual({
    called: `--no-canonicalize ${volume}\n--no-canonicalize --internal-only --force --lazy ${volume}\n`,
    exists: false,
  });
});

test('a mount that is detached when the time is up is not an error', async () => {
  const volume = join(folder, 'volume');
  await mkdir(volume);
  await mountTmpfs(volume, undefined);
  // As a file system that is written back after the kernel has detached it.
  await standIn(`(umount "$@")\nexec sleep 1000`);
  await unmountTree(volume, timeoutMs);
  expect(await readFile(calls, 'utf8')).toBe(`--no-canonicalize ${volume}\n`);
});

test('a mount that nothing detaches is reported, and its folder is kept', async () => {
  const volume = join(folder, 'volume');
  await mkdir(volume);
  await mountTmpfs(volume, undefined);
  await writeFile(join(volume, 'file'), 'kept');
  await standIn('exec sleep 1000');
  await expect(unmountTree(volume, timeoutMs)).rejects.toThrow(
    `unmounting ${volume} took more than 2 s, by force as well`,
  );
  expect(await readFile(join(volume, 'file'), 'utf8')).toBe('kept');
});

test('a mount without others below it stays shared until it is unmounted, because that asks no server', async () => {
  const volume = join(folder, 'volume');
  await mkdir(volume);
  await mountTmpfs(volume, undefined);
  await execa('mount', ['--make-shared', volume]);
  await standIn('exit 0');
  await unmountTree(volume);
  const { stdout } = await execa('findmnt', ['--noheadings', '--output', 'PROPAGATION', volume]);
  expect(stdout.trim()).toBe('shared');
});
