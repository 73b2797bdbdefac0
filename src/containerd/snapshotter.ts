import { mkdir, mkdtemp, readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { execa, ExecaError } from 'execa';
import { hasCode } from '../errors.ts';

/** `native` copies whole layers: slow, but works on any file system. */
export type Snapshotter = 'overlayfs' | 'native';

const mountTimeoutMs = 10_000;

/**
 * Returns the snapshotter that works in this folder, which must exist: overlayfs, unless the kernel refuses to mount
 * one there, as on NFS, on most FUSE file systems, and on an overlayfs. Removes what a killed trial left. Only one
 * process at a time may call this.
 */
export async function chooseSnapshotter(folder: string): Promise<Snapshotter> {
  const left = (await readdir(folder)).filter((name) => name.startsWith(trialPrefix));
  for (const name of left) await removeTrial(join(folder, name));
  const trial = await mkdtemp(join(folder, trialPrefix));
  const merged = join(trial, 'merged');
  try {
    for (const name of ['lower', 'lower/removed', 'upper', 'work', 'merged']) await mkdir(join(trial, name));
    const options = `lowerdir=${trial}/lower,upperdir=${trial}/upper,workdir=${trial}/work`;
    await execa('mount', ['-t', 'overlay', 'overlay', '-o', options, merged], { timeout: mountTimeoutMs });
    // Some file systems can be mounted, but cannot hide what is removed.
    await rmdir(join(merged, 'removed'));
    return 'overlayfs';
  } catch (error) {
    // Without the program or room for the trial, nothing is known.
    const isUnknown = error instanceof ExecaError && error.exitCode === undefined;
    return isUnknown || lacksRoom(error) || !(await hasRoom(trial)) ? 'overlayfs' : 'native';
  } finally {
    await removeTrial(trial);
  }
}

const trialPrefix = 'trial-';

async function removeTrial(trial: string): Promise<void> {
  await execa('umount', ['-l', join(trial, 'merged')], { reject: false, timeout: mountTimeoutMs });
  await rm(trial, { recursive: true, force: true });
}

const lacksRoom = (error: unknown): boolean => hasCode(error, 'ENOSPC', 'EDQUOT');

/** False if the disk cannot hold as many folders more as the kernel makes for a mount. */
async function hasRoom(trial: string): Promise<boolean> {
  try {
    for (const name of ['one', 'two', 'three', 'four']) await mkdir(join(trial, name));
    return true;
  } catch (error) {
    return !lacksRoom(error);
  }
}

/** The warning about the snapshotter `native`. */
export const nativeWarning = (folder: string): string =>
  `overlayfs does not work in ${folder}: each image and each container is a full copy, which takes time and space. ` +
  'Use a root-dir on a disk with ext4, xfs or btrfs.';

/** Returns the snapshotter in a configuration that we generated. Those of runtimes come later in it. */
export const snapshotterIn = (config: string): Snapshotter =>
  /^\s*snapshotter = "(.*)"$/m.exec(config)?.[1] === 'native' ? 'native' : 'overlayfs';
