import { mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeFolder } from '../../src/files/make-folder.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('makes a folder with those above it, and leaves one that is there as it is', async () => {
  const path = join(await temporaryFolder(), 'a/b/c');
  await Promise.all([makeFolder(path, 0o700), makeFolder(path, 0o700)]);
  await makeFolder(path, 0o755);
  expect((await stat(path)).mode & 0o777).toBe(0o700);
});

test('makes many folders at once that lack the same ones above them', async () => {
  const above = join(await temporaryFolder(), 'a/b');
  const paths = Array.from({ length: 20 }, (_, index) => join(above, String(index), 'c'));
  await Promise.all(paths.map((path) => makeFolder(path, 0o700)));
  expect(await readdir(above)).toHaveLength(20);
});

test('takes a link to a folder for one', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'real'));
  await symlink('real', join(folder, 'link'));
  await makeFolder(join(folder, 'link/new'), 0o755);
  expect((await stat(join(folder, 'real/new'))).isDirectory()).toBe(true);
});

test.each([
  ['below /proc', () => '/proc/nonexistent/folder', 'ENOENT'],
  ['below a file', (folder: string) => join(folder, 'file/new/er'), 'ENOTDIR'],
  ['in the place of a file', (folder: string) => join(folder, 'file'), 'EEXIST'],
  ['below a link to nothing', (folder: string) => join(folder, 'dangling/new'), 'EEXIST'],
])('is refused %s, and does not try for ever', async (_where, pathIn, code) => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'file'), '');
  await symlink('nowhere', join(folder, 'dangling'));
  await expect(makeFolder(pathIn(folder), 0o755)).rejects.toMatchObject({ code });
});
