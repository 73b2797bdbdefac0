import { realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifPresent } from '../../files/if-present.ts';
import { OpenEntry } from '../host/open-entry.ts';

/*
 * INVARIANTS: containers may change a volume at any time, so a resolved path is only a hint. From the root of the
 * volume each component is opened inside the previous one, and none may be a link. Paths are bytes, one character per
 * byte.
 */

/**
 * Opens a path inside a volume. Follows links within the volume. Rejects if the path is outside of it. kubelet:
 * pkg/volume/util/subpath/subpath_linux.go safeOpenSubPath
 */
export async function openInsideVolume(volumePath: string, path: string): Promise<OpenEntry> {
  const root = await resolve(Buffer.from(volumePath));
  return openBelow(root, await resolve(bytes(join(root, ...namesOf(path)))));
}

/** True if a path inside a volume exists, or the target of its link. */
export async function existsInsideVolume(volumePath: string, path: string): Promise<boolean> {
  return (await ifPresent(resolve(bytes(join(toBytes(volumePath), ...namesOf(path)))))) !== undefined;
}

/**
 * Creates a folder inside a volume with its missing parents. All get the permissions of the volume, regardless of the
 * umask. kubelet: pkg/volume/util/subpath/subpath_linux.go SafeMakeDir
 */
export async function makeFolderInsideVolume(volumePath: string, path: string): Promise<void> {
  const root = await resolve(Buffer.from(volumePath));
  const mode = (await stat(volumePath)).mode & 0o7777;
  const { existing, missing } = await deepestExisting(root, namesOf(path));
  let folder = await openBelow(root, existing);
  try {
    for (const name of missing) {
      const isNew = await folder.makeFolder(name, mode & 0o777);
      folder = await replace(folder, await folder.openChild(name));
      if (isNew) await folder.chmod(mode);
    }
  } finally {
    await folder.close();
  }
}

async function openBelow(root: string, resolved: string): Promise<OpenEntry> {
  const below = root === '/' ? root : `${root}/`;
  if (resolved !== root && !resolved.startsWith(below)) throw new Error('the path is outside of the volume');
  let entry = await OpenEntry.open(bytes(root));
  try {
    for (const name of namesIn(resolved.slice(root.length))) entry = await replace(entry, await entry.openChild(name));
    return entry;
  } catch (error) {
    await entry.close();
    throw error;
  }
}

async function replace(entry: OpenEntry, next: OpenEntry): Promise<OpenEntry> {
  await entry.close();
  return next;
}

/** The longest existing prefix of a path, and the remaining names. */
async function deepestExisting(
  root: string,
  names: readonly string[],
): Promise<{ existing: string; missing: readonly string[] }> {
  for (let depth = names.length; depth > 0; depth -= 1) {
    const existing = await ifPresent(resolve(bytes(join(root, ...names.slice(0, depth)))));
    if (existing !== undefined) return { existing, missing: names.slice(depth) };
  }
  return { existing: root, missing: names };
}

const resolve = (path: Buffer): Promise<string> => realpath(path, { encoding: 'latin1' });
const bytes = (path: string): Buffer => Buffer.from(path, 'latin1');
const toBytes = (path: string): string => Buffer.from(path).toString('latin1');

/** The components of a path, as bytes. */
function namesOf(path: string): string[] {
  const names = namesIn(toBytes(path));
  if (names.includes('..')) throw new Error("the path has a '..' in it");
  return names;
}

const namesIn = (path: string): string[] => path.split('/').filter((name) => name !== '' && name !== '.');
