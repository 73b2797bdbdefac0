import { chmod, lstat, mkdtemp, rename, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ClaimName } from '../../api/values/persistent-volume.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { syncFolder } from '../../files/write-file-atomic.ts';
import { ifPresent } from '../../files/if-present.ts';
import { listFolder } from '../../files/list-folder.ts';
import { removeTree } from '../host/remove-tree.ts';

/** Any user of a container may write, as local-path does it. Only root reaches the folder above. */
const folderMode = 0o777;

/** Prefix of a folder that is not complete. No claim has such a name. */
const unfinished = '.new-';

/** `<root-dir>/volumes/<namespace>/<claim>`: the data of a claim without a declared volume. They outlive its pods. */
export function claimFolder(rootDir: string, { namespace, name }: ClaimName): string {
  return join(rootDir, 'volumes', namespace, name);
}

/**
 * Makes the folder with its mode at one moment. An existing one keeps its mode and its data. One call at a time: what
 * an interrupted one left is removed.
 */
export async function makeClaimFolder(rootDir: string, claim: ClaimName): Promise<void> {
  const path = claimFolder(rootDir, claim);
  if (await hasClaimFolder(rootDir, claim)) return;
  await makeFolder(dirname(path), 0o700);
  for (const name of await listFolder(dirname(path))) {
    // Nothing is put into such a folder, so one with content is not of this program.
    if (name.startsWith(unfinished)) await rmdir(join(dirname(path), name)).catch(() => undefined);
  }
  const made = await mkdtemp(join(dirname(path), unfinished));
  try {
    // The umask limits mkdir, but not chmod.
    await chmod(made, folderMode);
    await rename(made, path);
  } catch (error) {
    await rmdir(made).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(path));
}

export async function hasClaimFolder(rootDir: string, claim: ClaimName): Promise<boolean> {
  return (await ifPresent(lstat(claimFolder(rootDir, claim))))?.isDirectory() === true;
}

/** The claims that have a folder, declared or not, sorted. */
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

/** Deletes the data of every claim with a folder, and forgets all bindings. Rejects if a folder is in use. */
export async function removeClaimFolders(rootDir: string): Promise<void> {
  for (const folder of ['volumes', 'persistent-volumes']) await removeTree(join(rootDir, folder));
}
