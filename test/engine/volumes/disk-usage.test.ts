import { link, lstat, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { treeUsage } from '../../../src/engine/volumes/disk-usage.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});

async function blocksOf(...paths: string[]): Promise<bigint> {
  const stats = await Promise.all(paths.map((path) => lstat(path, { bigint: true })));
  return stats.reduce((sum, { blocks }) => sum + blocks * 512n, 0n);
}

test('counts what files and folders take, a file with two names once, and not what links lead to', async () => {
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
