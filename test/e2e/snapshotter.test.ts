import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { chooseSnapshotter, snapshotterIn } from '../../src/containerd/snapshotter.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('overlayfs is chosen where the kernel mounts one, native where it refuses, and nothing is left', async () => {
  const folder = await temporaryFolder();
  for (const name of ['lower', 'upper', 'work', 'overlay']) await mkdir(join(folder, name));
  const overlay = join(folder, 'overlay');
  const options = `lowerdir=${folder}/lower,upperdir=${folder}/upper,workdir=${folder}/work`;
  await execa('mount', ['-t', 'overlay', 'overlay', '-o', options, overlay]);
  onTestFinished(async () => {
    await execa('umount', ['-l', overlay]);
  });
  const disk = join(folder, 'disk');
  await mkdir(disk);
  expect([await chooseSnapshotter(disk), await chooseSnapshotter(overlay)]).toEqual(['overlayfs', 'native']);
  expect([await readdir(disk), await readdir(overlay)]).toEqual([[], []]);
});

test('a trial that was killed while its overlayfs was mounted is removed by the next one', async () => {
  const folder = await temporaryFolder();
  const left = join(folder, 'trial-killed');
  for (const name of ['lower', 'upper', 'work', 'merged']) await mkdir(join(left, name), { recursive: true });
  const options = `lowerdir=${left}/lower,upperdir=${left}/upper,workdir=${left}/work`;
  await execa('mount', ['-t', 'overlay', 'overlay', '-o', options, join(left, 'merged')]);
  onTestFinished(async () => {
    await execa('umount', ['-l', join(left, 'merged')], { reject: false });
  });
  expect(await chooseSnapshotter(folder)).toBe('overlayfs');
  expect(await readdir(folder)).toEqual([]);
  expect(await readFile('/proc/self/mounts', 'utf8')).not.toContain(left);
});

test('the snapshotter of a running containerd is that of its configuration', () => {
  expect(snapshotterIn('[plugins."io.containerd.grpc.v1.cri".containerd]\nsnapshotter = "native"\n')).toBe('native');
  expect(snapshotterIn('snapshotter = "overlayfs"\n')).toBe('overlayfs');
});
