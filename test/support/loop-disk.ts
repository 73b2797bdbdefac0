import { mkdtemp, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { execa } from 'execa';

/** A disk of its own: an image file with ext4, mounted at a folder with a short path. */
export interface LoopDisk {
  readonly folder: string;
  readonly image: string;
  /** Makes the kernel report an error of the disk, after which it refuses writes. */
  fail(): Promise<void>;
  /** Copies what the disk has now. Writes that are only in memory are not in the copy. */
  copy(): Promise<void>;
  /** Unmounts the disk and mounts its copy in its place. Nothing may use it. */
  bootFromCopy(): Promise<void>;
  /** Unmounts it, and removes the image and the folder. */
  remove(): Promise<void>;
}

/** Creates and mounts a disk. */
export async function mountLoopDisk({ mebibytes }: { mebibytes: number }): Promise<LoopDisk> {
  const folder = await mkdtemp('/tmp/kts-disk-');
  const image = `${folder}.img`;
  const copied = `${folder}.copy`;
  const mount = (): unknown => execa('mount', ['-o', 'loop,errors=remount-ro', image, folder]);
  await writeFile(image, '');
  await truncate(image, mebibytes * 1024 ** 2);
  await execa('mkfs.ext4', ['-q', '-F', image]);
  await mount();
  return {
    folder,
    image,
    fail: async () => {
      const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' '));
      const device = mounts.find(([, point]) => point === folder)?.[0] ?? '';
      await writeFile(join('/sys/fs/ext4', basename(device), 'trigger_fs_error'), '1');
    },
    copy: async () => {
      await execa('cp', ['--sparse=always', image, copied]);
    },
    bootFromCopy: async () => {
      await execa('umount', ['-l', folder]);
      await rename(copied, image);
      await mount();
    },
    remove: async () => {
      await execa('umount', ['-l', folder], { reject: false });
      await rm(folder, { recursive: true });
      for (const file of [image, copied]) await rm(file, { force: true });
    },
  };
}
