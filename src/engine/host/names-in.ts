import { readdir } from 'node:fs/promises';
import { hasCode } from '../../errors.ts';

/** The names in a folder. Empty if the folder is missing. Rejects with other errors of the file system. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}
