import { execFileSync, spawnSync } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { chooseSnapshotter } from '../../src/containerd/snapshotter.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// Each of the five folders of the trial needs an inode, and so does what the kernel makes in them.
test.each([3, 5, 7, 8, 9])(
  'a disk without room for the trial does not make layers be copied: %i inodes',
  async (inodes) => {
    const disk = await temporaryFolder();
    execFileSync('mount', ['-t', 'tmpfs', '-o', `nr_inodes=${inodes}`, 'small', disk]);
    onTestFinished(() => void spawnSync('umount', ['-l', disk]));
    expect(await chooseSnapshotter(disk)).toBe('overlayfs');
    expect(await readdir(disk)).toEqual([]);
  },
);
