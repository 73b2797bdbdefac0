import { chmod, lstat, mkdtemp, rename, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ClaimName } from '../../api/values/persistent-volume.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { syncFolder } from '../../files/write-file-atomic.ts';
import { ifPresent } from '../../files/if-present.ts';
import { listFolder } from '../../files/list-folder.ts';
import { removeTree } from '../host/remove-tree.ts';

/** Any user in a container may write, as with local-path. Only root can reach the folder above. */
const folderMode = 0o777;

/** Prefix of an incomplete folder. No claim's name begins like this. */
const unfinished = '.new-';

/**
 * `<root-dir>/volumes/<namespace>/<claim>`: holds the data of a claim without a declared volume. They are kept when its
 * pods are removed.
 */
export function claimFolder(rootDir: string, { namespace, name }: ClaimName): string {
  return join(rootDir, 'volumes', namespace, name);
}

/**
 * Creates the folder and its mode atomically. An existing folder keeps its mode and data. Removes what an interrupted
 * call left, so only one call may run at a time.
 */
export async function makeClaimFolder(rootDir: string, claim: ClaimName): Promise<void> {
  const path = claimFolder(rootDir, claim);
  if (await hasClaimFolder(rootDir, claim)) return;
  await makeFolder(dirname(path), 0o700);
  for (const name of await listFolder(dirname(path))) {
    // We put nothing into an incomplete folder, so one with content is not ours.
    if (name.startsWith(unfinished)) await rmdir(join(dirname(path), name)).catch(() => undefined);
  }
  const created = await mkdtemp(join(dirname(path), unfinished));
  try {
    // The umask limits mkdir, but not chmod.
    await chmod(created, folderMode);
    await rename(created, path);
  } catch (error) {
    await rmdir(created).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(path));
}

export async function hasClaimFolder(rootDir: string, claim: ClaimName): Promise<boolean> {
  return (await ifPresent(lstat(claimFolder(rootDir, claim))))?.isDirectory() === true;
}

/** Lists the claims that have a folder, declared or not, sorted. */
export async function claimsWithFolder(rootDir: string): Promise<ClaimName[]> {
  const found: ClaimName[] = [];
  for (const namespace of (await listFolder(join(rootDir, 'volumes'))).sort()) {
    const names = (await listFolder(join(rootDir, 'volumes', namespace))).filter(
      (name) => !name.startsWith(unfinished),
    );
    found.push(...names.sort().map((name) => ({ namespace, name })));
  }
  return found;
}

/** Deletes the data of every claim with a folder, and drops all bindings. Rejects if a folder is in use. */
export async function removeClaimFolders(rootDir: string): Promise<void> {
  for (const folder of ['volumes', 'persistent-volumes']) await removeTree(join(rootDir, folder));
}
