import { statfs } from 'node:fs/promises';
import type { ImageFilesystem } from './image-gc.ts';

/** Size of the file system that a path is on, and what of it is free for those who are not root. */
export async function readFilesystem(path: string): Promise<ImageFilesystem> {
  const { blocks, bavail, bsize } = await statfs(path, { bigint: true });
  return { capacityBytes: blocks * bsize, availableBytes: bavail * bsize };
}
