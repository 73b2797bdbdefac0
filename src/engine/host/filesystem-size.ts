import { statfs } from 'node:fs/promises';

/** Size and free space of a file system. */
export interface FilesystemSize {
  capacityBytes: bigint;
  availableBytes: bigint;
}

/** Reads the size of the file system at a path, and its free space for users other than root. */
export async function readFilesystemSize(path: string): Promise<FilesystemSize> {
  const { blocks, bavail, bsize } = await statfs(path, { bigint: true });
  return { capacityBytes: blocks * bsize, availableBytes: bavail * bsize };
}
