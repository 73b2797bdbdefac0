import { link, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { treeUsage } from '../../../src/engine/volumes/disk-usage.ts';
import { flatUsage } from '../../../src/engine/volumes/flat-usage.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

async function folderOfLogs(): Promise<string> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, '0.log'), Buffer.alloc(10_000));
  await writeFile(join(folder, '1.log'), 'a line\n');
  return folder;
}

test('a folder of plain files has the usage of its tree', async () => {
  const folder = await folderOfLogs();
  const whole = await treeUsage(folder, () => false);
  expect([await flatUsage(folder), whole.inodes]).toEqual([whole, 3]);
});

test.each([
  ['a folder', (folder: string) => mkdir(join(folder, 'deep'))],
  ['a link', (folder: string) => symlink('0.log', join(folder, 'current'))],
  ['a file with two names', (folder: string) => link(join(folder, '0.log'), join(folder, 'same'))],
  ['thousands of files', manyFiles],
])('a folder with %s is left to others', async (_, add) => {
  const folder = await folderOfLogs();
  await add(folder);
  expect(await flatUsage(folder)).toBeUndefined();
});

test('a missing path and a file are not measured', async () => {
  const folder = await folderOfLogs();
  await expect(flatUsage(join(folder, 'missing'))).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await flatUsage(join(folder, '0.log'))).toBeUndefined();
});

async function manyFiles(folder: string): Promise<void> {
  const names = Array.from({ length: 5000 }, (_, index) => `${index}`.padStart(20, 'x'));
  await Promise.all(names.map((name) => writeFile(join(folder, name), '')));
}
