import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { execa } from 'execa';

/** A disk of its own: an image file with ext4, mounted at a folder with a short path. */
export interface LoopDisk {
  readonly folder: string;
  readonly image: string;
  /** Makes the kernel report an error of the disk, after which it refuses writes. */
  fail(): Promise<void>;
  /** Unmounts it, and removes the image and the folder. */
  remove(): Promise<void>;
}

/** Creates and mounts a disk. `image` is an existing one, which is then only mounted. */
export async function mountLoopDisk(options: { mebibytes: number } | { image: string }): Promise<LoopDisk> {
  const folder = await mkdtemp('/tmp/kts-disk-');
  const image = 'image' in options ? options.image : `${folder}.img`;
  if ('mebibytes' in options) {
    await writeFile(image, '');
    await truncate(image, options.mebibytes * 1024 ** 2);
    await execa('mkfs.ext4', ['-q', '-F', image]);
  }
  await execa('mount', ['-o', 'loop,errors=remount-ro', image, folder]);
  return {
    folder,
    image,
    fail: async () => {
      const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' '));
      const device = mounts.find(([, point]) => point === folder)?.[0] ?? '';
      await writeFile(join('/sys/fs/ext4', basename(device), 'trigger_fs_error'), '1');
    },
    remove: async () => {
      await execa('umount', ['-l', folder], { reject: false });
      await rm(folder, { recursive: true });
      await rm(image, { force: true });
    },
  };
}
