import { hasCode } from '../errors.ts';

/** The result of work on a file. Resolves with undefined if it fails with such a code: if the file is missing. */
export async function ifPresent<T>(work: Promise<T>, ...codes: readonly string[]): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (hasCode(error, 'ENOENT', ...codes)) return undefined;
    throw error;
  }
}
