import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { hasImageArchives } from '../../src/containerd/import-images-folder.ts';
import { importIntoShared } from '../../src/containerd/import-into-shared.ts';
import { UserError } from '../../src/errors.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const endpoint = 'unix:///run/crio/crio.sock';

test('archives that the runtime cannot take are an error', async () => {
  const rootDir = await temporaryFolder();
  const { signal } = new AbortController();
  const imported = importIntoShared({ endpoint, rootDir, clock: systemClock, signal, onProgress: () => undefined });
  await expect(imported).rejects.toThrow(UserError);
  await expect(imported).rejects.toThrow(
    `importing the archives in ${rootDir}/images is not possible with the runtime at ${endpoint}: the CRI has no way to`,
  );
});

test('only archives count, and a folder that cannot be read may have some', async () => {
  const folder = join(await temporaryFolder(), 'images');
  expect(await hasImageArchives(folder)).toBe(false);
  await mkdir(folder);
  for (const name of ['README', 'app.tar.sha256', '.app.tar']) await writeFile(join(folder, name), '');
  expect(await hasImageArchives(folder)).toBe(false);
  await writeFile(join(folder, 'app.tar'), '');
  expect(await hasImageArchives(folder)).toBe(true);
  expect(await hasImageArchives(join(folder, 'app.tar'))).toBe(true);
});
