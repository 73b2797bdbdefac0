import { renameSync } from 'node:fs';
import { link, lstat, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { treeUsage, type TreeUsage, usedDisk } from '../../../src/engine/volumes/disk-usage.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});

async function blocksOf(...paths: string[]): Promise<bigint> {
  const stats = await Promise.all(paths.map((path) => lstat(path, { bigint: true })));
  return stats.reduce((sum, { blocks }) => sum + blocks * 512n, 0n);
}

test('counts files and folders, a file with two names once, and does not follow links', async () => {
  const volume = join(folder, 'volume');
  await mkdir(join(volume, 'sub'), { recursive: true });
  await writeFile(join(volume, 'sub', 'file'), Buffer.alloc(50_000, 1));
  await link(join(volume, 'sub', 'file'), join(volume, 'same'));
  await writeFile(join(folder, 'large'), Buffer.alloc(500_000, 1));
  await symlink(join(folder, 'large'), join(volume, 'link'));
  const expected = await blocksOf(volume, join(volume, 'sub'), join(volume, 'same'), join(volume, 'link'));
  expect(await treeUsage(volume, () => false)).toEqual({ bytes: expected, inodes: 4 });
  expect(expected).toBeGreaterThan(50_000n);
});

test('stops as soon as it has counted enough', async () => {
  for (let file = 0; file < 20; file += 1) await writeFile(join(folder, String(file)), Buffer.alloc(10_000, 1));
  const { bytes } = await treeUsage(folder, (usage) => usage.bytes > 20_000n);
  expect(bytes).toBeGreaterThan(20_000n);
  expect(bytes).toBeLessThan(60_000n);
});

test('stops at the maximum number of names', async () => {
  for (let file = 0; file < 5; file += 1) await mkdir(join(folder, String(file)));
  expect((await treeUsage(folder, () => false, { maxNames: 4 })).inodes).toBe(4);
});

test('the count of a file with countless names is limited', async () => {
  await writeFile(join(folder, 'file'), '');
  for (let name = 0; name < 5; name += 1) await link(join(folder, 'file'), join(folder, String(name)));
  let looks = 0;
  const isEnough = (): boolean => {
    looks += 1;
    return false;
  };
  expect((await treeUsage(folder, isEnough, { maxNames: 4 })).inodes).toBe(2);
  expect(looks).toBe(2);
});

test('beyond the limit of linked files, each name counts as a share of its file', async () => {
  for (const name of ['a', 'b', 'c']) {
    await writeFile(join(folder, name), Buffer.alloc(40_960, 1));
    for (const other of ['2', '3', '4']) await link(join(folder, name), join(folder, `${name}${other}`));
  }
  const expected = await blocksOf(folder, ...['a', 'b', 'c'].map((name) => join(folder, name)));
  expect(await treeUsage(folder, () => false, { maxLinkedFiles: 1 })).toEqual({ bytes: expected, inodes: 4 });
});

describe('a folder that is moved while its content is counted', () => {
  let volume: string;
  beforeEach(async () => {
    volume = join(folder, 'volume');
    for (const path of ['a/moved', 'b/deep/er', 'c']) await mkdir(join(volume, path), { recursive: true });
    await writeFile(join(volume, 'a/moved/large'), Buffer.alloc(1_000_000, 1));
    await writeFile(join(volume, 'c/file'), Buffer.alloc(60_000, 1));
  });

  /** Usage of the volume. Once the large file is counted, each path of `moves` becomes the other. */
  function usageWith(moves: Readonly<Record<string, string>>): Promise<TreeUsage> {
    const left = Object.entries(moves);
    return treeUsage(volume, ({ bytes }) => {
      if (bytes > 1_000_000n) for (const paths of left.splice(0)) renameSync(...pathsIn(volume, paths));
      return false;
    });
  }

  const pathsIn = (path: string, [from, to]: [string, string]): [string, string] => [join(path, from), join(path, to)];

  test.each<[title: string, moves: Record<string, string>, left: string[], isPartial?: true]>([
    [
      'counts once, with what comes after it',
      { 'a/moved': 'b/deep/moved' },
      ['a', 'b', 'b/deep', 'b/deep/er', 'b/deep/moved', 'b/deep/moved/large', 'c', 'c/file'],
    ],
    [
      'counts once if the folder above it is moved too',
      { a: 'b/a' },
      ['b', 'b/a', 'b/a/moved', 'b/a/moved/large', 'b/deep', 'b/deep/er', 'c', 'c/file'],
    ],
    [
      'counts without a folder above it that leaves the volume',
      { 'a/moved': 'b/deep/moved', a: '../elsewhere' },
      ['b', 'b/deep', 'b/deep/er', 'b/deep/moved', 'b/deep/moved/large', 'c', 'c/file'],
      true,
    ],
    [
      'counts without a folder above it that was renamed, and says so',
      { 'a/moved': '../elsewhere', a: 'renamed' },
      ['../elsewhere', '../elsewhere/large', 'b', 'b/deep', 'b/deep/er', 'c', 'c/file'],
      true,
    ],
    [
      'counts if it leaves the volume',
      { 'a/moved': '../elsewhere' },
      ['../elsewhere', '../elsewhere/large', 'a', 'b', 'b/deep', 'b/deep/er', 'c', 'c/file'],
    ],
  ])('%s', async (_title, moves, left, isPartial) => {
    const usage = await usageWith(moves);
    const bytes = await blocksOf(volume, ...left.map((path) => join(volume, path)));
    expect(usage).toEqual({ bytes, inodes: left.length + 1, ...(isPartial && { isPartial }) });
  });
});

test('a partial usage never falls below the previous one', () => {
  const [usage, before] = [
    { bytes: 4096n, inodes: 5 },
    { usedBytes: 8192, inodesUsed: 2 },
  ];
  expect([usedDisk(usage, before), usedDisk({ ...usage, isPartial: true }, before)]).toEqual([
    { usedBytes: 4096, inodesUsed: 5 },
    { usedBytes: 8192, inodesUsed: 5 },
  ]);
});
