import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode } from './errors.ts';

/**
 * Makes a folder with those above it that are missing; one that is there stays as it is. Rejects with the error of the file
 * system. Node's own `recursive` tries for ever, in a thread that is lost then, where the folder above is there and ENOENT is
 * the answer all the same, as below /proc.
 */
export async function makeFolder(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (await isFolder(path)) return;
    const above = dirname(path);
    if (!hasCode(error, 'ENOENT') || above === path || (await isFolder(above))) throw error;
    await makeFolder(above, mode);
    await makeFolder(path, mode);
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    // Missing, or nothing to enter.
    return false;
  }
}
