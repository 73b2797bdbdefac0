import { readdir } from 'node:fs/promises';
import { ifPresent } from './if-present.ts';

/**
 * Lists a folder. Returns [] if it does not exist or fails with one of `codes`. Rejects with other errors of the file
 * system.
 */
export async function listFolder(folder: string, ...codes: readonly string[]): Promise<string[]> {
  return (await ifPresent(readdir(folder), ...codes)) ?? [];
}
