import { lstat, rmdir, unlink } from 'node:fs/promises';
import { errorMessage } from '../../errors.ts';
import { ifPresent } from './if-present.ts';
import { unmountTree } from './mounts.ts';
import { walkTree } from './walk-tree.ts';

/**
 * Unmounts everything at and below `path`, then deletes it. Never deletes through a mount or a link. Rejects if a
 * container changes the tree meanwhile; call it again then. If an unmount fails, nothing is deleted. Does nothing if
 * `path` is missing.
 */
export async function removeTree(path: string): Promise<void> {
  await unmountTree(path);
  try {
    await ifPresent(removeUnmounted(path));
  } catch (error) {
    throw new Error(`cannot remove ${path}: ${errorMessage(error)}`, { cause: error });
  }
}

async function removeUnmounted(path: string): Promise<void> {
  if (!(await lstat(path)).isDirectory()) {
    await unlink(path);
    return;
  }
  await walkTree(path, async (folder, { name, isDirectory }) => {
    await ifPresent((isDirectory ? rmdir : unlink)(folder.at(name)));
    return undefined;
  });
  await rmdir(path);
}
