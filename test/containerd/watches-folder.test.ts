import { watch } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { watchesFolder } from '../../src/containerd/watches-folder.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('a process watches a folder until another one has its path', async () => {
  const base = await temporaryFolder();
  const folder = join(base, 'net.d');
  const isWatched = (): Promise<boolean> => watchesFolder(process.pid, folder);
  await mkdir(folder);
  const before = await isWatched();
  const watcher = watch(folder);
  onTestFinished(() => {
    watcher.close();
  });
  const watched = await isWatched();
  await rename(folder, join(base, 'away'));
  const missing = await isWatched();
  await mkdir(folder);
  const replaced = await isWatched();
  expect({ before, watched, missing, replaced }).toEqual({
    before: false,
    watched: true,
    missing: false,
    replaced: false,
  });
});

test('of a process that has exited, nothing is known', async () => {
  await expect(watchesFolder(2 ** 30, await temporaryFolder())).rejects.toMatchObject({ code: 'ENOENT' });
});
