import { hasCode } from '../errors.ts';

/**
 * Returns the result of work on a file. Resolves to undefined if it fails with one of `codes`, by default because the
 * file is missing.
 */
export async function ifPresent<T>(work: Promise<T>, ...codes: readonly string[]): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (hasCode(error, 'ENOENT', ...codes)) return undefined;
    throw error;
  }
}
