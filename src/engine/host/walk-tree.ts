import { hasCode } from '../../errors.ts';
import { type FolderEntry, OpenFolder } from './open-folder.ts';

/** Acts on one entry of `folder`. Returning `stop` ends the walk. */
export type Visit = (folder: OpenFolder, entry: FolderEntry) => Promise<'stop' | undefined>;

/** A folder on the path from the root to the current place of the walk. */
interface Level {
  name: string;
  identity: string;
  /** Names of its folders that the walk has not entered yet. */
  left: string[];
}

/**
 * Visits everything below the folder `path`, but not `path` itself. Files come before folders, and the entries of a
 * folder before the folder. Files are visited while the folder is read, so only names of folders are kept. Follows no
 * link and enters no mount inside. Rejects if a folder is moved while the walk is in it. Holds at most two folders
 * open.
 */
export async function walkTree(path: string, visit: Visit): Promise<void> {
  let folder = await OpenFolder.open(path);
  const rootMount = folder.mountID;
  try {
    const levels: Level[] = [];
    const enter = async (name: string): Promise<'stop' | undefined> => {
      const level: Level = { name, identity: folder.identity, left: [] };
      levels.push(level);
      return visitFiles(folder, level.left, visit);
    };
    if ((await enter('')) === 'stop') return;
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const name = level.left.pop();
      if (name === undefined) {
        levels.pop();
        const parent = levels.at(-1);
        if (parent === undefined) return;
        folder = await replace(folder, await openParent(folder, parent));
        if ((await visit(folder, { name: level.name, isDirectory: true })) === 'stop') return;
        continue;
      }
      const child = await openChild(folder, name, rootMount);
      if (child === 'gone') continue;
      if (child === 'leaf') {
        if ((await visit(folder, { name, isDirectory: true })) === 'stop') return;
        continue;
      }
      folder = await replace(folder, child);
      if ((await enter(name)) === 'stop') return;
    }
  } finally {
    await folder.close();
  }
}

/** Visits the files of `folder`. Adds the names of its folders to `folders`. */
async function visitFiles(folder: OpenFolder, folders: string[], visit: Visit): Promise<'stop' | undefined> {
  for await (const entry of folder.entries()) {
    if (entry.isDirectory) folders.push(entry.name);
    else if ((await visit(folder, entry)) === 'stop') return 'stop';
  }
  return undefined;
}

async function replace(folder: OpenFolder, next: OpenFolder): Promise<OpenFolder> {
  await folder.close();
  return next;
}

async function openChild(folder: OpenFolder, name: string, mount: string): Promise<OpenFolder | 'leaf' | 'gone'> {
  try {
    const child = await OpenFolder.open(folder.at(name));
    if (child.mountID === mount) return child;
    await child.close();
    return 'leaf';
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 'gone';
    // It was a folder when it was listed, and was replaced since.
    if (hasCode(error, 'ENOTDIR', 'ELOOP')) return 'leaf';
    throw error;
  }
}

async function openParent(folder: OpenFolder, { identity }: Level): Promise<OpenFolder> {
  const parent = await OpenFolder.open(folder.at('..'));
  if (parent.identity === identity) return parent;
  await parent.close();
  throw new Error('a folder was moved while it was walked through');
}
