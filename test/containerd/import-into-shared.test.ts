import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { importIntoShared } from '../../src/containerd/import-into-shared.ts';
import { UserError } from '../../src/errors.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const endpoint = 'unix:///run/crio/crio.sock';

test('without archives there is nothing to import', async () => {
  const rootDir = await temporaryFolder();
  await mkdir(join(rootDir, 'images'));
  await writeFile(join(rootDir, 'images', 'README'), '');
  expect(await importIntoShared({ endpoint, rootDir, clock: systemClock })).toBeUndefined();
});

test('archives that the runtime cannot take are an error', async () => {
  const rootDir = await temporaryFolder();
  await mkdir(join(rootDir, 'images'));
  await writeFile(join(rootDir, 'images', 'app.tar'), '');
  const importFolder = await importIntoShared({ endpoint, rootDir, clock: systemClock });
  const { signal } = new AbortController();
  const imported = importFolder?.(signal, () => undefined);
  await expect(imported).rejects.toThrow(UserError);
  await expect(imported).rejects.toThrow(
    `importing the archives in ${rootDir}/images is not possible with the runtime at ${endpoint}: the CRI has no way to`,
  );
});
