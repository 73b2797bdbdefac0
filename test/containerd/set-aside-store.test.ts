import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { setAsideStore } from '../../src/containerd/set-aside-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('moves the store aside in place of an older one, and removes the state', async () => {
  const base = await temporaryFolder();
  const paths = { root: join(base, 'root'), state: join(base, 'state') };
  await mkdir(join(base, 'root.damaged/older'), { recursive: true });
  for (const folder of [paths.root, paths.state]) await mkdir(join(folder, 'a'), { recursive: true });
  await writeFile(join(paths.root, 'a/blob'), Buffer.alloc(1024 * 1024, 1));

  const { path, bytes, isKept } = await setAsideStore(paths);
  expect({ path, isKept, isCounted: bytes >= 1024 * 1024 }).toEqual({
    path: `${paths.root}.damaged`,
    isKept: true,
    isCounted: true,
  });
  expect(await readdir(base)).toEqual(['root.damaged']);
  expect((await readFile(join(path, 'a/blob'))).length).toBe(1024 * 1024);
});

test('can be called again after a crash that left no store', async () => {
  const base = await temporaryFolder();
  expect(await setAsideStore({ root: join(base, 'root'), state: join(base, 'state') })).toEqual({
    path: join(base, 'root.damaged'),
    bytes: 0,
    isKept: true,
  });
  expect(await readdir(base)).toEqual([]);
});

test('keeps the old store if another process has set the store aside meanwhile', async () => {
  const base = await temporaryFolder();
  const paths = { root: join(base, 'root'), state: join(base, 'state') };
  await mkdir(join(paths.root, 'a'), { recursive: true });
  await setAsideStore(paths);
  await setAsideStore(paths);
  expect(await readdir(join(base, 'root.damaged'))).toEqual(['a']);
});

test('finds what is mounted below a root-dir that is a link', async () => {
  const base = await temporaryFolder();
  await mkdir(join(base, 'real/state/rootfs'), { recursive: true });
  await symlink(join(base, 'real'), join(base, 'link'));
  const mountPoint = join(base, 'real/state/rootfs');
  execFileSync('mount', ['-t', 'tmpfs', 'none', mountPoint]);
  onTestFinished(() => void spawnSync('umount', ['-l', mountPoint]));
  await setAsideStore({ root: join(base, 'link/root'), state: join(base, 'link/state') });
  expect(await readdir(join(base, 'real'))).toEqual([]);
});

test.each(['a mount point', 'a link to another disk'])('a store whose folder is %s stays on its disk', async (kind) => {
  const base = await temporaryFolder();
  const paths = { root: join(base, 'root'), state: join(base, 'state') };
  const disk = join(base, 'disk');
  for (const folder of [disk, paths.state]) {
    await mkdir(folder);
    execFileSync('mount', ['-t', 'tmpfs', 'none', folder]);
    onTestFinished(() => void spawnSync('umount', ['-l', folder]));
  }
  if (kind === 'a mount point') {
    await mkdir(paths.root);
    execFileSync('mount', ['--bind', disk, paths.root]);
    onTestFinished(() => void spawnSync('umount', ['-l', paths.root]));
  } else await symlink(disk, paths.root);
  await mkdir(join(paths.state, 'io.containerd.runtime.v2.task'));
  const parts = ['io.containerd.content.v1.content', 'io.containerd.metadata.v1.bolt'];
  for (const name of ['lost+found', 'damaged', ...parts]) await mkdir(join(disk, name));

  // As after a crash that left no store.
  for (let round = 0; round < 2; round++) {
    expect(await setAsideStore(paths)).toMatchObject({ path: join(paths.root, 'damaged'), isKept: true });
    expect(await readdir(paths.state)).toEqual([]);
    expect((await readdir(disk)).toSorted()).toEqual(['damaged', 'lost+found']);
    expect((await readdir(join(disk, 'damaged'))).toSorted()).toEqual(parts);
  }
});
