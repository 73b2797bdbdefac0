import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { mountFileSystem } from '../../../src/engine/host/mounts.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;

beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const share = { type: 'nfs', source: '10.0.0.1:/exports', target: '/mnt', options: ['hard', 'ro'] };

/** Puts a stand-in for `mount` first in the PATH. It notes its words. */
async function standIn(script: string): Promise<void> {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  const text = `#!/bin/sh\necho "$*" > '${join(folder, 'words')}'\n${script}\n`;
  await writeFile(join(bin, 'mount'), text, { mode: 0o755 });
  vi.stubEnv('PATH', `${bin}:${process.env['PATH'] ?? ''}`);
}

/** A helper that waits for a server without an answer. It keeps the standard error of `mount` open. */
const hungHelper = (): Promise<void> =>
  standIn(`sleep 1000 &\necho $! > '${helperFile()}-new'\nmv '${helperFile()}-new' '${helperFile()}'\nwait`);
const helperFile = (): string => join(folder, 'helper');

/** Ends once the helper has ended. On a busy machine it may not have started. */
async function helperEnds(): Promise<void> {
  if (!existsSync(helperFile())) return;
  const helper = (await readFile(helperFile(), 'utf8')).trim();
  while (existsSync(`/proc/${helper}`)) await nextTurn();
}

test('a file system is mounted with its options', async () => {
  await standIn('');
  await mountFileSystem(share);
  expect(await readFile(join(folder, 'words'), 'utf8')).toBe('-t nfs -o hard,ro -- 10.0.0.1:/exports /mnt\n');
});

test('a failure has the words of mount', async () => {
  await standIn('echo "mount.nfs: Connection refused" >&2\nexit 32');
  await expect(mountFileSystem(share)).rejects.toEqual(
    new UserError('mounting 10.0.0.1:/exports: mount.nfs: Connection refused'),
  );
});

test('a mount that takes too long is ended with its helpers', async () => {
  await hungHelper();
  await expect(mountFileSystem({ ...share, timeoutMs: 2000 })).rejects.toEqual(
    new UserError('mounting 10.0.0.1:/exports: it took longer than 2 seconds'),
  );
  await helperEnds();
});

test('a mount is ended with its helpers by the signal', async () => {
  await hungHelper();
  const controller = new AbortController();
  const mounting = mountFileSystem({ ...share, signal: controller.signal });
  const reason = new Error('the pod ends');
  const hasEnded = expect(mounting).rejects.toBe(reason);
  while (!existsSync(helperFile())) await nextTurn();
  controller.abort(reason);
  await hasEnded;
  await helperEnds();
});
