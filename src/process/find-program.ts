import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';

const usualFolders = [
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
  '/bin',
  '/opt/containerd/bin',
];

/** Returns the folders of $PATH, then the usual ones, because services and sudo often have a PATH without sbin. */
export function searchFolders(path: string | undefined): string[] {
  const given = (path ?? '').split(':').filter((folder) => folder.startsWith('/'));
  return [...new Set([...given, ...usualFolders])];
}

/** Returns the path of a program that may be run, from the first folder that has it. */
export async function findProgram(name: string, folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) {
    const path = join(folder, name);
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  return undefined;
}
