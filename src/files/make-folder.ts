import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode } from '../errors.ts';

/**
 * Creates a folder and its missing parents. Leaves an existing one unchanged. Rejects with the error of the file
 * system. Replaces Node's own `recursive`, which blocks a thread forever if mkdir returns ENOENT below an existing
 * folder, as in /proc.
 */
export async function makeFolder(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (await isFolder(path)) return;
    const above = dirname(path);
    if (!hasCode(error, 'ENOENT') || above === path) throw error;
    await makeFolder(above, mode);
    await makeBelow(path, mode);
  }
}

/** Another caller may have created the folder in the meantime. */
async function makeBelow(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (!(await isFolder(path))) throw error;
  }
}

/** True if the path leads to a folder. False if we cannot check that. */
export async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}
