import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { removeTree } from '../../../src/engine/host/remove-tree.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;
let tree: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  tree = join(folder, 'tree');
  await mkdir(tree);
});

test('a tree deeper than any path may be long is removed', async () => {
  const levels = Array.from({ length: 18 }, () => 'd'.repeat(200));
  const chain = join(...levels);
  const [first = ''] = levels;
  for (let part = 0; part < 3; part += 1) {
    await mkdir(join(folder, 'part', chain), { recursive: true });
    if (part > 0) await rename(join(tree, first), join(folder, 'part', chain, first));
    await rename(join(folder, 'part', first), join(tree, first));
  }
  await removeTree(tree);
  expect(await readdir(folder)).toEqual(['part']);
});

/** A tree with more levels than a walk enters, and a file in the last. Leaves a folder `part` beside it. */
async function makeDeepTree(at: string): Promise<void> {
  const chain = join(...Array.from({ length: 600 }, () => 'd'));
  for (let part = 0; part < 2; part += 1) {
    await mkdir(join(at, 'part', chain), { recursive: true });
    if (part === 0) await writeFile(join(at, 'part', chain, 'file'), '');
    else await rename(join(at, 'tree', 'd'), join(at, 'part', chain, 'd'));
    await rename(join(at, 'part', 'd'), join(at, 'tree', 'd'));
  }
}

test('a tree deeper than a walk goes is removed', async () => {
  await makeDeepTree(folder);
  await removeTree(tree);
  expect(await readdir(folder)).toEqual(['part']);
});

test('files are removed also when their names are no text', async () => {
  const name = Buffer.from([0x66, 0xff, 0xfe]);
  await writeFile(Buffer.concat([Buffer.from(`${tree}/`), name]), '');
  await mkdir(Buffer.concat([Buffer.from(`${tree}/`), name, Buffer.from('-folder')]));
  await removeTree(tree);
  expect(await readdir(folder)).toEqual([]);
});

test('a tree deeper than a walk goes is removed from a disk without a free inode', async () => {
  const disk = join(folder, 'disk');
  await mkdir(disk);
  await execa('mount', ['-t', 'tmpfs', '-o', 'nr_inodes=1300', 'small', disk]);
  onTestFinished(async () => {
    await execa('umount', ['--lazy', disk]);
  });
  await mkdir(join(disk, 'tree'));
  await makeDeepTree(disk);
  const takeInodes = async (): Promise<void> => {
    for (let file = 0; file < 1300; file += 1) await writeFile(join(disk, 'part', String(file)), '');
  };
  await expect(takeInodes()).rejects.toThrow('ENOSPC');
  await removeTree(join(disk, 'tree'));
  expect(await readdir(disk)).toEqual(['part']);
});

test('a missing path is fine, and so is a file', async () => {
  await writeFile(join(tree, 'file'), '');
  await removeTree(join(tree, 'file'));
  await removeTree(join(tree, 'missing'));
  await removeTree(join(tree, 'missing', 'below'));
  expect(await readdir(tree)).toEqual([]);
});
