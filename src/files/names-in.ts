import { readdir } from 'node:fs/promises';
import { ifPresent } from './if-present.ts';

/**
 * The names in a folder. Empty if the folder is missing, or cannot be read with such a code. Rejects with other errors
 * of the file system.
 */
export async function namesIn(folder: string, ...codes: readonly string[]): Promise<string[]> {
  return (await ifPresent(readdir(folder), ...codes)) ?? [];
}
