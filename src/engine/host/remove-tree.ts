import { randomUUID } from 'node:crypto';
import { lstat, rename, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage, hasCode } from '../../errors.ts';
import { ifPresent } from '../../files/if-present.ts';
import { unmountTree } from './mounts.ts';
import type { OpenFolder } from './open-folder.ts';
import { type Visit, walkTree } from './walk-tree.ts';

/**
 * Unmounts everything at and below `path`, then deletes it. Never deletes through a mount or a link. Rejects if a
 * container changes the tree meanwhile; then call this again. If an unmount fails, nothing is deleted. Does nothing if
 * `path` is missing.
 */
export async function removeTree(path: string): Promise<void> {
  await unmountTree(path);
  try {
    await removeUnmounted(path);
  } catch (error) {
    throw new Error(`cannot remove ${path}: ${errorMessage(error)}`, { cause: error });
  }
}

async function removeUnmounted(path: string): Promise<void> {
  const found = await ifPresent(lstat(path));
  if (found === undefined) return;
  if (!found.isDirectory()) {
    await unlink(path);
    return;
  }
  while ((await removeContent(path)) === 'some were moved');
  await rmdir(path);
}

/**
 * Deletes everything except folders that are too deep for a walk. It moves those up into `path`, which needs no inode.
 */
async function removeContent(path: string): Promise<'some were moved' | undefined> {
  let result: 'some were moved' | undefined;
  const visit: Visit = async (folder, { name, isDirectory, isTooDeep = false }) => {
    const entry = folder.at(name);
    try {
      await ifPresent((isDirectory ? rmdir : unlink)(entry));
    } catch (error) {
      if (!isTooDeep || !hasCode(error, 'ENOTEMPTY')) throw error;
      await rename(entry, join(path, `deep-${randomUUID()}`));
      result = 'some were moved';
    }
    return 'removed';
  };
  await walkTree(path, visit, { beforeEntering: removeEmpty });
  return result;
}

/** Deletes an empty folder. That takes one call, where the walk would take six. */
async function removeEmpty(folder: OpenFolder, name: string): Promise<boolean> {
  try {
    await rmdir(folder.at(name));
    return true;
  } catch {
    // It has entries, is a mount, or is not a folder. The walk finds out, and reports all other errors.
    return false;
  }
}
